import json
from collections import Counter
from pathlib import Path
from typing import Any

from dspy.lm15 import Request, Response
from support.compiling import compiled
from support.learning_lm import KEY, TABLE, LearningLM

from programs.migres import MIGRES


class Moody(LearningLM):
    """Asked the same thing again at a temperature, it answers shortly every other time."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.asked: Counter[str] = Counter()

    def complete(self, request: Request) -> Response:
        user = request.messages[-1].text or ""
        self.asked[user] += 1
        good = request.config.temperature == 1.0 and self.asked[user] % 2 == 0
        return (LearningLM("Person") if good else super()).complete(request)


def test_simba_appends_advice_and_demonstrations_that_stay_in_the_state(tmp_path: Path) -> None:
    rules = Moody()
    outcome = compiled("simba", MIGRES(TABLE), rules, tmp_path / "rules", {"demonstrations": 0}, threads=1)
    state = json.loads((tmp_path / "rules" / "state.json").read_text())
    assert "".join(rules.taught).count("should be") > 0
    assert state["detect"]["signature"]["instructions"] == outcome.program.detect.signature.instructions
    said = MIGRES(TABLE).detect.signature.instructions
    assert state["detect"]["signature"]["instructions"] == f"{said}\n\n{KEY}"
    assert state["detect"]["demos"] == []
    assert outcome.after.total.scores["em"].mean == 1.0
    shown = compiled("simba", MIGRES(TABLE), LearningLM("Person 1"), tmp_path / "demos")
    state = json.loads((tmp_path / "demos" / "state.json").read_text())
    assert [demo["answer"] for demo in state["detect"]["demos"]] == ["Graz"]
    assert state["extract"]["demos"][0]["statements"][0]["passages"] == [1]
    assert shown.after.total.scores["em"].mean == 1.0
