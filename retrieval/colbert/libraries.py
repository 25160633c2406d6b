"""colbert-ai and what it needs, imported without the side effects that importing it has.

Everything that the extra `colbert` installs is imported through here, so that one place says what is missing.
"""

import multiprocessing
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from odqa.extras import needing


@contextmanager
def _contained() -> Iterator[None]:
    """Undo what importing colbert-ai does to the process: it sets multiprocessing's start method and a variable.

    The warnings are about parts of colbert-ai and transformers that are not used here. GIT_PYTHON_REFRESH lets
    GitPython, which colbert-ai imports, do without git.
    """
    method, environment = multiprocessing.get_start_method(allow_none=True), dict(os.environ)
    os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        multiprocessing.set_start_method(method, force=True)
        for name in os.environ.keys() - environment.keys():
            del os.environ[name]
        os.environ.update(environment)


with needing("colbert"), _contained():
    import faiss
    import numba  # noqa: F401  # for the kernels
    import torch
    from colbert.indexing.codecs.residual import ResidualCodec
    from colbert.infra import ColBERTConfig
    from colbert.modeling.colbert import ColBERT as Model
    from colbert.modeling.hf_colbert import class_factory
    from colbert.modeling.tokenization import DocTokenizer, QueryTokenizer
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

__all__ = [
    "ColBERTConfig",
    "DocTokenizer",
    "HFValidationError",
    "Model",
    "QueryTokenizer",
    "ResidualCodec",
    "class_factory",
    "faiss",
    "snapshot_download",
    "torch",
]
