"""Five passages, their triples, and an LM that finds these and chooses among facts as it is told."""

import json
import threading
from collections.abc import Iterable

import dspy
from support.scripted import Function, engine_lm, render

from retrieval import Passage

__all__ = ["PASSAGES", "TRIPLES", "Knowing"]

PASSAGES = [
    Passage("ada", "Ada Quill was born in Lund and found the planet Zorx.", "Ada Quill"),
    Passage("zorx", "Zorx is a planet that Ada Quill found.", "Zorx"),
    Passage("lund", "Lund is a town in Sweden.", "Lund"),
    Passage("bo", "Bo Reed baked bread in Oslo.", "Bo Reed"),
    Passage("rain", "It rained all day long.", "Rain"),
]
TRIPLES = {
    "ada": [["Ada Quill", "was born in", "Lund"], ["Ada Quill", "found", "Zorx"]],
    "zorx": [["Ada Quill", "found", "Zorx"], ["Zorx", "is", "planet"]],
    "lund": [["Lund", "is a town in", "Sweden"]],
    "bo": [["Bo Reed", "baked bread in", "Oslo"]],
    "rain": [],
}


class Knowing:
    """What the LM is asked is kept in `asked`, a pair of act and input; what it says can be changed.

    Args:
        passages: Those that it knows.
    """

    def __init__(self, passages: Iterable[Passage]) -> None:
        self.passages = list(passages)
        self.triples = {p.id: json.dumps(TRIPLES.get(p.id, [])) for p in self.passages}
        self.entities = {p.id: json.dumps([p.title]) for p in self.passages}
        self.relevant = "[1]"
        self.asked: list[tuple[str, str]] = []
        self._lock = threading.Lock()

    @property
    def lm(self) -> dspy.LM:
        return engine_lm(Function(self.reply))

    def reply(self, system: str, user: str) -> str:
        act = next(act for act in ("relevant", "triples", "entities") if f"`{act}`" in system.partition("All inter")[0])
        if act == "relevant":
            self._note(act, user.partition("Respond with")[0].strip())
            return render({"relevant": self.relevant})
        passage = next(p for p in self.passages if p.text in user)
        self._note(act, passage.id)
        said = self.triples if act == "triples" else self.entities
        return said[passage.id] if said[passage.id] == "{}" else render({act: said[passage.id]})

    def _note(self, act: str, what: str) -> None:
        with self._lock:
            self.asked.append((act, what))
