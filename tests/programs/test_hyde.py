"""HyDE: passages from memory searched beside the question; the case is made up."""

from typing import Any

import dspy
import pytest
from support.prompt_reading import inputs
from support.scripted import UNPARSABLE, Reply, scripted

from programs.hyde import HyDE
from programs.instruments.cost import Cost, measured
from retrieval import Memory, Passage, Retriever, UsageError
from signatures.answer import AnswerShortDirectly, AnswerYesNoDirectly
from signatures.write import WritePassage

QUESTION = "Who found the planet Zorx?"
FIRST, SECOND = "Zorx was found by Bo Quill in 2188.", "The astronomer Ada Quill found Zorx."
SCORES = {
    QUESTION: {"band": 8.0, "planet": 6.0, "moon": 4.0},
    FIRST: {"planet": 20.0, "quill": 15.0, "band": 10.0},
    SECOND: {"quill": 3.0, "planet": 2.0, "band": 1.0},
}


class Scored(Retriever):
    """Finds what the table says, with its scores."""

    def search(self, query: str, k: int) -> list[Passage]:
        found = list(SCORES.get(query, {}).items())[:k]
        return [Passage(id_, f"About {id_}.", score=score) for id_, score in found]


ANSWER = Reply(AnswerShortDirectly, {"answer": " Ada Quill "})


def written(*texts: str) -> list[Reply]:
    return [Reply(WritePassage, {"passage": text}) for text in texts]


def run(*replies: Reply, **settings: Any) -> tuple[dspy.Prediction, Cost, list[dict[str, str]]]:
    with scripted(*replies) as script, measured() as cost:
        seen = HyDE(Scored(), **settings)(question=QUESTION)
    return seen, cost, [inputs(user) for _, user in script.prompts if "JSON object" not in user]


def test_passages_are_ranked_by_the_sum_of_their_scores_for_the_question_and_for_what_was_written() -> None:
    seen, cost, prompts = run(*written(FIRST, SECOND), ANSWER, n=2, k=2)
    # question: band 1, planet .5, moon 0; first: planet 1, quill .5, band 0; second: quill 1, planet .5, band 0
    assert [(passage.id, passage.score) for passage in seen.evidence] == [("planet", 2.0), ("quill", 1.5)]
    assert prompts == [
        {"question": QUESTION},
        {"question": QUESTION},
        {"context": "[1] About planet.\n[2] About quill.", "question": QUESTION},
    ]
    assert (seen.answer, seen.queries[0], set(seen.queries[1:])) == ("Ada Quill", QUESTION, {FIRST, SECOND})
    assert set(seen.written) == {FIRST, SECOND}
    assert [passage.id for passage in seen.passages] == ["band", "planet", "moon", "quill"]
    # The promise of the class docstring: n + 1 LM calls, n + 1 searches, and two LM calls in a row.
    assert (cost.lm_calls, cost.searches, cost.depth) == (3, 3, 2)


def test_eight_different_samples_are_written_at_a_temperature() -> None:
    settings: list[tuple[Any, Any]] = []

    class Seeing(dspy.Predict):  # type: ignore[misc]
        def forward(self, **kwargs: Any) -> dspy.Prediction:
            settings.append((kwargs["config"]["temperature"], kwargs["config"]["rollout_id"]))
            return super().forward(**kwargs)

    with scripted(*written(*[FIRST] * 8), ANSWER), measured() as cost:
        program = HyDE(Scored())
        program.write = Seeing(WritePassage)
        program(question=QUESTION)
    assert sorted(settings) == [(0.7, sample) for sample in range(8)]
    assert (cost.lm_calls, cost.searches) == (9, 9)


def test_where_there_are_no_scores_reciprocal_ranks_are_added() -> None:
    passages = {name: Passage(name, f"About {name}.") for name in ("band", "planet", "quill")}
    found = {QUESTION: ["band", "planet"], FIRST: ["planet", "quill"]}
    with scripted(*written(FIRST), ANSWER):
        seen = HyDE(Memory(passages.values(), found), n=1, k=2)(question=QUESTION)
    assert [passage.id for passage in seen.evidence] == ["planet", "band"]


def test_only_the_m_best_of_a_search_count() -> None:
    seen, _, _ = run(*written(FIRST), ANSWER, n=1, m=1)
    assert [passage.id for passage in seen.evidence] == ["band", "planet"]  # both 1; the order in which they were found


@pytest.mark.parametrize("nothing", ["[NONE]", "I don't know anything about that.", UNPARSABLE])
def test_what_the_lm_declines_to_write_is_not_searched_with(nothing: str) -> None:
    second = Reply(WritePassage, nothing if nothing == UNPARSABLE else {"passage": nothing})
    again = [Reply(WritePassage, UNPARSABLE)] * (nothing == UNPARSABLE)
    seen, cost, _ = run(*written(FIRST), second, *again, ANSWER, n=2)
    assert (seen.written, seen.queries) == ([FIRST], [QUESTION, FIRST])
    assert cost.unparsable == (nothing == UNPARSABLE)


def test_yes_or_no() -> None:
    seen, _, _ = run(*written(FIRST), Reply(AnswerYesNoDirectly, {"answer": "Yes."}), n=1, style="yesno")
    assert seen.answer == "yes"


@pytest.mark.parametrize("wrong", [{"n": 0}, {"m": 0}, {"k": 0}, {"sampling": -0.1}, {"style": "long"}])
def test_settings_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        HyDE(Scored(), **wrong)
