"""An index in parts, each an index of its own, whose results are merged into those of the whole.

The files:

    build.py     from an index to its shards
    search.py    asks all shards and merges what they find
    serving.py   shards on a Ray cluster, each with replicas
"""

from retrieval.shards.build import split
from retrieval.shards.search import Sharded, open_shards

__all__ = ["Sharded", "open_shards", "split"]
