import dspy

from eval.figures.summary import Score
from optimizers.changes import changes
from programs.blendfilter import BlendFilter
from retrieval import Memory

TABLE = Memory([])


def test_it_shows_instructions_as_a_diff_and_lists_demonstrations() -> None:
    before, after = BlendFilter(TABLE), BlendFilter(TABLE)
    after.topic.signature = after.topic.signature.with_instructions("Name the topic\nin a word.")
    after.topic.demos = [dspy.Example(question="What is  Zorx?", topic="planets " * 40, extra="not shown")]
    half, full = Score(0.5, 4, 0.15, 0.85), Score(1.0, 4, 0.51, 1.0)
    scores = {name: (None, None) for name, _ in before.named_predictors()} | {"select.predict": (half, full)}
    parts = dict(part.split("\n", 1) for part in changes(before, after, scores).split("\n\n"))
    none = "  part: - before, - after"
    assert parts["recall"].splitlines() == [none, "  instructions as they were", "  0 demonstrations"]
    assert parts["select.predict"].splitlines()[0] == (
        "  part: 50.0 [15.0, 85.0] (4) before, 100.0 [51.0, 100.0] (4) after"
    )
    assert parts["topic"].splitlines()[:7] == [
        none,
        "  instructions changed:",
        "  -Name the general topic that the question belongs to.",
        "  +Name the topic",
        "  +in a word.",
        "  1 demonstration:",
        "    1. question: What is Zorx?",
    ]
    last = parts["topic"].splitlines()[7]
    assert last.startswith("       topic: planets planets")
    assert last.endswith("…")
    assert "not shown" not in parts["topic"]
