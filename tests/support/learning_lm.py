"""A small world, and an LM that answers about it well only if demonstrations or instructions show it how."""

import json
from typing import Any

import dspy
from dspy.lm15 import Request, Response
from support.scripted import render, respond

from retrieval import Memory, Passage

__all__ = ["EXAMPLES", "HELD_OUT", "KEY", "TABLE", "TRAIN", "LearningLM"]

KEY = "Give the bare name."
CITIES = ["Lund", "Graz", "Bern", "Oulu", "Gent", "Jena", "Pisa", "Brno", "Cork", "Bath"]
TABLE = Memory([Passage(f"p{n}", f"Person {n} was born in {city} .", f"Person {n}") for n, city in enumerate(CITIES)])
EXAMPLES = [
    dspy.Example(
        id=f"q{n}", question=f"Where was Person {n} born ?", answer=city, answers=[city], gold_titles=[f"Person {n}"]
    ).with_inputs("question")
    for n, city in enumerate(CITIES)
]
TRAIN, HELD_OUT = EXAMPLES[:6], EXAMPLES[6:]


class LearningLM:
    """Knows where persons are born, and says so in a whole sentence unless it is shown the short way.

    Args:
        hint: Questions that contain this get a short answer in any case.
        deaf: Whether it learns nothing.
    """

    def __init__(self, hint: str = "no hint", deaf: bool = False) -> None:
        self.hint = hint
        self.deaf = deaf
        self.taught: list[str] = []
        """The prompts that asked it for instructions."""

    def complete(self, request: Request) -> Response:
        system = request.system if isinstance(request.system, str) else "".join(p.text for p in request.system or ())
        user = request.messages[-1].text or ""
        outputs = system.split("Your output fields are:")[1].split("All interactions")[0]
        names = [line.split("`")[1] for line in outputs.splitlines() if "`" in line]
        proposed = self.proposed(names, user)
        if proposed is not None:
            self.taught.append(user)
            reply: dict[str, Any] = proposed
        else:
            shown = not self.deaf and (len(request.messages) > 1 or KEY in system)
            reply = self.answered(names, user, shown)
        as_json = "JSON object" in user or "JSON object" in system
        return respond(json.dumps({n: _value(v) for n, v in reply.items()}) if as_json else render(reply))

    def answered(self, names: list[str], user: str, shown: bool) -> dict[str, Any]:
        example = next(e for e in EXAMPLES if e.question in user)
        short = shown or self.hint in example.question
        answer = example.answer if short else f"It was {example.answer} , I think"
        fact = [{"statement": f"{example.gold_titles[0]} was born in {example.answer} .", "passages": [1]}]
        known = {
            "relevant": "[1]",
            "statements": json.dumps(fact),
            "queries": json.dumps([example.question]),
            "missing": "",
            "answer": answer,
            "query": example.question,
            "action": "finish" if "[1]" in user else "search",
            "strategy": "multiple",
            "sentence": "So the answer is known .",
            "information": fact[0]["statement"],
            "new_notes": json.dumps([fact[0]["statement"]]),
        }
        return {name: known.get(name, "People .") for name in names}

    def proposed(self, names: list[str], user: str) -> dict[str, Any] | None:
        """The reply to a prompt that asks for instructions: the key if the prompt shows why; None for other prompts."""
        if "proposed_prefix_for_output_field" in names:  # COPRO: good only once it sees scores
            text = KEY if "Resulting Score" in user else "Answer nicely ."
            return {"proposed_instruction": text, "proposed_prefix_for_output_field": "Answer:"}
        if "module_advice" in names:  # SIMBA
            advice = {"answer.predict": KEY, "detect": KEY} if "should be" in user else {}
            return {"discussion": "So.", "module_advice": json.dumps(advice)}
        if "new_instruction" in names:  # GEPA
            return {"new_instruction": KEY if "it is to stand alone" in user else "Answer nicely ."}
        if "proposed_instruction" in names:  # MIPROv2
            return {"proposed_instruction": KEY}
        if {"observations", "summary", "program_description", "module_description"} & set(names):
            return dict.fromkeys(names, "About persons .")
        return None


def _value(text: Any) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
