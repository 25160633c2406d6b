"""Training questions in the shape that the data sets have on the hub, and the passages that they are about."""

from typing import Any

import dspy

from eval.tasks import TASKS
from eval.tasks.jsonl import example
from retrieval import Memory, Passage

__all__ = ["KINDS", "WORLD"]

WORLD = Memory(
    Passage(str(n), text, title)
    for n, (title, text) in enumerate(
        [
            ("Zorx", "Zorx is a planet. It was found in 2190 by Ada Quill. It has rings."),
            ("Ada Quill", "Ada Quill was an astronomer. She was born in Lund."),
            ("Vorx", "Vorx is a planet. It was found in 2201 by Bo Quill."),
            ("Bo Quill", "Bo Quill was a baker. He was born in Graz."),
            ("Seawater", "Seawater is salty."),
        ]
    )
)
_QUESTIONS = [("Zorx", "Ada Quill", "Lund"), ("Vorx", "Bo Quill", "Graz")]


def _hotpotqa(planet: str, finder: str, town: str) -> dict[str, Any]:
    sentences = {
        planet: ["It is a planet.", f" It was found by {finder}."],
        finder: ["This was that.", f" Born in {town}."],
    }
    return {
        "id": planet,
        "question": f"Where was the finder of {planet} born?",
        "answer": town,
        "type": "bridge",
        "level": "easy",
        "supporting_facts": {"title": [planet, finder], "sent_id": [1, 1]},
        "context": {"title": [planet, finder], "sentences": [sentences[planet], sentences[finder]]},
    }


def _two_wiki(planet: str, finder: str, town: str) -> dict[str, Any]:
    return {
        "_id": planet,
        "type": "compositional",
        "question": f"Where was the finder of {planet} born?",
        "answer": town,
        "supporting_facts": {"title": [planet, finder], "sent_id": [0, 0]},
        "evidences": {
            "fact": [planet, finder], "relation": ["discoverer", "place of birth"], "entity": [finder, town]
        },
        "context": {"title": [planet, finder], "content": [[f"{planet} is a planet."], ["This was that."]]},
    }  # fmt: skip


def _musique(planet: str, finder: str, town: str) -> dict[str, Any]:
    return {
        "id": f"2hop__{planet}",
        "question": f"Where was the finder of {planet} born?",
        "answer": town,
        "answer_aliases": [],
        "answerable": True,
        "paragraphs": [
            {"idx": n, "title": title, "paragraph_text": ".", "is_supporting": True}
            for n, title in enumerate((planet, finder))
        ],
        "question_decomposition": [
            {"id": 1, "question": f"{planet} >> discoverer", "answer": finder, "paragraph_support_idx": 0},
            {"id": 2, "question": "Where was #1 born?", "answer": town, "paragraph_support_idx": 1},
        ],
    }


def _strategyqa(gallons: int) -> dict[str, Any]:
    return {
        "qid": str(gallons),
        "term": "Seawater",
        "description": "water",
        "question": f"Could {gallons} gallons of seawater crush a six year old?",
        "answer": gallons > 5,
        "facts": ["The average weight of a six year old is 45 pounds.", "A gallon of seawater weighs over 8 pounds."],
        "decomposition": [
            "What is the average weight of a six year old?",
            "What is the weight of a gallon of seawater?",
            f"Is {gallons} times #2 more than #1?",
        ],
    }


_ROWS: dict[str, list[dict[str, Any]]] = {
    "hotpotqa": [_hotpotqa(*names) for names in _QUESTIONS],
    "2wikimultihopqa": [_two_wiki(*names) for names in _QUESTIONS],
    "musique": [_musique(*names) for names in _QUESTIONS],
    "strategyqa": [_strategyqa(gallons) for gallons in (2, 10)],
    "nq": [{"question": f"where was {finder.lower()} born", "answer": [town]} for _, finder, town in _QUESTIONS],
}

KINDS: dict[str, list[dspy.Example]] = {
    name: [example(TASKS[name].example(row, f"train-{n}")) for n, row in enumerate(rows)]
    for name, rows in _ROWS.items()
}
"""Two training questions of each data set that papers take demonstrations from."""
