from typing import Any, ClassVar

import dspy
import pytest

from programs.instruments.cost import Cost, Spent
from programs.instruments.trace import Answer, Call, Dropped, Found, Kept, Query, Search, Statement, Trace, Turn, trace
from programs.steps.result import Filtered, Lists, PerPassage, Ranking, Reading, Statements, Turns, result
from retrieval import Passage

A, B, C, D = (Passage(id_, f"text of {id_}", id_) for id_ in "abcd")


def fates(of: Trace) -> dict[str, tuple[str, str]]:
    """Form or "dropped", and why, by passage."""
    steps = [*of.steps_of(Kept), *of.steps_of(Dropped)]
    return {step.passage: (getattr(step, "form", "dropped"), step.why) for step in steps}


def traced(reads: dict[str, Reading], evidence: list[Passage], **own: Any) -> Trace:
    class Program(dspy.Module):
        pass

    Program.reads = reads
    fields = dict(result(answer="x", queries=["q"], passages=[A, B, C], evidence=evidence, **own).items())
    return trace(Program(), [Search("q", [A, B, C])], Cost(), fields)


def test_the_steps_come_in_order_from_the_queries_to_the_answer() -> None:
    class Program(dspy.Module):
        reads: ClassVar[dict[str, Reading]] = {"facts": Statements(), "rounds": Turns()}

    fields = {
        "answer": "Rome",
        "queries": ["first", "second"],
        "passages": [A, B],
        "evidence": [A],
        "facts": [{"fact": "It is Rome.", "passages": ["a"]}],
        "rounds": [{"retrieved": ["a", "b"], "kept": ["a"], "shown": ["a"]}, {"retrieved": []}],
    }
    searches = [Search("second", [B]), Search("first", [A]), Search("unlisted", None)]
    cost = Cost(predictors={"read": Spent(lm_calls=2, input_tokens=30, output_tokens=4)})
    assert trace(Program(), searches, cost, fields).steps == (
        Query(number=1, text="first"),
        Found(query=1, passages=("a",)),
        Query(number=2, text="second"),
        Found(query=2, passages=("b",)),
        Query(number=3, text="unlisted"),
        Found(query=3, passages=None),
        Call(predictor="read", lm_calls=2, input_tokens=30, output_tokens=4),
        Turn(number=1, shown=("a",)),
        Turn(number=2, shown=None),
        Kept(passage="a", form="whole", why="supports statement 1; read in round 1"),
        Dropped(passage="b", why="dropped in round 1"),
        Statement(text="It is Rome.", passages=("a",)),
        Answer(text="Rome"),
    )


def test_a_query_that_is_sent_twice_keeps_its_places() -> None:
    fields = dict(result(answer="x", queries=["q", "r", "q"], passages=[A, B, C], evidence=[]).items())
    made = trace(dspy.Module(), [Search("q", [A]), Search("q", [C]), Search("r", [B])], Cost(), fields)
    assert [step.text for step in made.steps_of(Query)] == ["q", "r", "q"]
    assert [step.passages for step in made.steps_of(Found)] == [("a",), ("b",), ("c",)]


@pytest.mark.parametrize(("answer", "text"), [(True, "yes"), (1912, "1912"), ("Rome", "Rome")])
def test_the_answer_of_any_program_is_text(answer: Any, text: str) -> None:
    assert trace(dspy.Module(), [], Cost(), {"answer": answer}).steps == (Answer(text=text),)


def test_a_failed_question_has_its_searches_and_calls_alone() -> None:
    steps = trace(dspy.Module(), [Search("q", [A])], Cost(predictors={"read": Spent(lm_calls=1)}), None).steps
    assert [step.kind for step in steps] == ["query", "found", "call"]


def test_of_any_module_the_common_fields_tell() -> None:
    of = traced({}, [A, Passage("b", "a part of it", "b"), Passage("lm:1", "written")])
    assert fates(of) == {"a": ("whole", ""), "b": ("extract", ""), "c": ("dropped", "the program does not say why")}
    assert of.found() == ["a", "b", "c"]


def test_without_evidence_nothing_is_said_of_passages() -> None:
    steps = trace(dspy.Module(), [Search("q", [A])], Cost(), {"answer": "x", "passages": "no passages"}).steps
    assert [step.kind for step in steps] == ["query", "found", "answer"]


def test_passages_that_the_program_does_not_report_are_those_that_its_searches_found() -> None:
    of = trace(dspy.Module(), [Search("q", [A, B])], Cost(), {"answer": "x", "evidence": [B]})
    assert {passage: form for passage, (form, _) in fates(of).items()} == {"a": "dropped", "b": "whole"}


@pytest.mark.parametrize(
    ("reading", "own", "said"),
    [
        (
            Filtered("before", "whole", {"q": "the question"}),
            {"field": {"q": ["a"], "r": ["a", "b"]}, "before": {"q": ["a", "c"], "r": ["a", "b"]}, "whole": ["r"]},
            {
                "a": "kept for the question; kept (as all were: the selection was unparsable) for r",
                "b": "kept (as all were: the selection was unparsable) for r",
                "c": "dropped for the question",
            },
        ),
        (
            Turns(),
            {"field": [{"retrieved": ["a", "b", "c"], "kept": ["a", "b"], "shown": ["a"]}, {"retrieved": ["b", "c"]}]},
            {
                "a": "read in round 1",
                "b": "kept by the filter, but not read in round 1; dropped in round 2",
                "c": "dropped in rounds 1, 2",
            },
        ),
        (
            Statements(),
            {"field": [{"fact": "one", "passages": ["a"]}, {"fact": "two", "passages": ["a", "b"]}]},
            {
                "a": "supports statement 1; supports statement 2",
                "b": "supports statement 2",
                "c": "supports no statement",
            },
        ),
        (
            Ranking(),
            {"field": ["b", "a"]},
            {"a": "field: place 2 of 2", "b": "field: place 1 of 2", "c": "field: no place"},
        ),
        (
            Lists(),
            {"field": [["a"], ["b", "a"]]},
            {"a": "field in turn 1; field in turn 2", "b": "field in turn 2", "c": ""},
        ),
        (PerPassage(), {"field": {"a": 0.123456, "b": "Rome"}}, {"a": "field: 0.1235", "b": "field: Rome", "c": ""}),
    ],
)
def test_why_is_read_from_the_fields_that_a_program_declares(
    reading: Reading, own: dict[str, Any], said: dict[str, str]
) -> None:
    found = fates(traced({"field": reading}, [A, B, C], **own))
    assert {passage: why for passage, (_, why) in found.items()} == said


def test_a_passage_that_only_a_statement_rests_on_is_cited() -> None:
    of = traced({"facts": Statements()}, [Passage("lm:fact-1", "one")], facts=[{"fact": "one", "passages": ["b"]}])
    assert {passage: form for passage, (form, _) in fates(of).items()} == {"a": "dropped", "b": "cited", "c": "dropped"}


def test_a_trace_survives_json() -> None:
    of = traced({"facts": Statements()}, [A], facts=[{"fact": "one \ud800", "passages": ["b"]}])
    assert Trace.model_validate(of.model_dump(mode="json")) == of
