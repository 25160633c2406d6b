"""Five passages about a film, its director, two rivers and a painter, and the adapters to ask about them with."""

import dspy

from retrieval.passage import Passage, number

__all__ = ["ADAPTERS", "CONTEXT", "DIRECTOR", "FILM", "OTHER", "PAINTER", "RIVER"]

FILM = Passage(
    "1", "The Lighthouse Keeper is a 1951 British drama film directed by Ada Quill.", "The Lighthouse Keeper"
)
DIRECTOR = Passage(
    "2", "Ada Quill (3 May 1910 – 9 June 1987) was a British film director. She was born in Whitby and had two sons.",
    "Ada Quill",
)  # fmt: skip
RIVER = Passage("3", "The Orm is a river in Norway. It is 148 km long and flows through Lillevik.", "Orm (river)")
OTHER = Passage("4", "The Salka is a river in Finland. It is 97 km long and has 12 dams.", "Salka")
PAINTER = Passage("5", "Berta Holm (born 2 April 1899 in Bergen) was a Norwegian painter.", "Berta Holm")
CONTEXT = number([RIVER, FILM, OTHER, DIRECTOR, PAINTER])
ADAPTERS = [dspy.ChatAdapter(use_json_adapter_fallback=False), dspy.JSONAdapter(), dspy.XMLAdapter()]
