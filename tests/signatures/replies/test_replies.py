"""What the reply types read, by themselves and through each of DSPy's adapters, and what they show in a prompt."""

import json
import re
import time
from typing import Any, Literal

import cloudpickle
import dspy
import pydantic
import pytest
from dspy.adapters.json_adapter import _get_structured_outputs_response_format
from dspy.utils.exceptions import AdapterParseError
from hypothesis import given
from hypothesis import strategies as st
from support.patience import CPU_SECONDS
from support.reply_cases import NO_REFUSALS, REFUSALS, RUNAWAYS, UNPARSABLE, cases
from support.scripted import Function, engine_lm

from signatures.replies import (
    Choice,
    Keywords,
    Numbers,
    Probability,
    ProbabilityOrNone,
    ShortAnswer,
    Statement,
    Statements,
    Texts,
    YesNo,
    YesNoOrNone,
    YesNoOrUnanswerable,
    is_refusal,
)


class Action(Choice, shows=Literal["search", "finish"]):
    pass


class Better(Choice, shows=Literal["first", "second"], aliases={"1": "first", "2": "second"}):
    pass


# The type of each kind, and the plain type that it shows as.
KINDS: dict[str, tuple[Any, Any]] = {
    "short answer": (ShortAnswer, str),
    "numbers": (Numbers, list[int]),
    "yes or no": (YesNo, Literal["yes", "no"]),
    "yes, no or unanswerable": (YesNoOrUnanswerable, Literal["yes", "no", "unanswerable"]),
    "yes, no or none": (YesNoOrNone, Literal["yes", "no"] | None),
    "action": (Action, Literal["search", "finish"]),
    "better": (Better, Literal["first", "second"]),
    "texts": (Texts, list[str]),
    "keywords": (Keywords, list[str]),
    "statements": (Statements, list[Statement]),
    "probability": (Probability, float),
    "probability or none": (ProbabilityOrNone, float),
}
TYPES = [kind[0] for kind in KINDS.values()]
CASES = [
    pytest.param(type_, written, meant, id=f"{kind}-{written!r}"[:80])
    for kind, (type_, _) in KINDS.items()
    for written, meant in cases(kind)
]


def signature(type_: Any) -> type[dspy.Signature]:
    fields = {"question": (str, dspy.InputField()), "thought": (str, dspy.OutputField())}
    return dspy.Signature({**fields, "value": (type_, dspy.OutputField(desc="it"))}, "Do it.")


def read(type_: Any, written: Any) -> Any:
    try:
        return type_.read(written)
    except ValueError:
        return UNPARSABLE


@pytest.mark.parametrize(("type_", "written", "meant"), CASES)
def test_what_is_written_is_read_as_it_was_meant(type_: Any, written: Any, meant: Any) -> None:
    seen = read(type_, written)
    assert seen == (pytest.approx(meant) if isinstance(meant, float) else meant)


def chat(written: Any) -> str:
    text = written if isinstance(written, str) else json.dumps(written)
    return f"[[ ## thought ## ]]\nso\n\n[[ ## value ## ]]\n{text}\n\n[[ ## completed ## ]]"


def as_json(written: Any) -> str:
    return json.dumps({"thought": "so", "value": written})


def xml(written: Any) -> str:
    text = written if isinstance(written, str) else json.dumps(written)
    return f"<thought>so</thought>\n<value>\n{text.replace('&', '&amp;').replace('<', '&lt;')}\n</value>"


def asked(adapter: dspy.Adapter, type_: Any, reply: str) -> Any:
    with dspy.context(lm=engine_lm(Function(lambda system, user: reply)), adapter=adapter):
        try:
            return dspy.Predict(signature(type_))(question="?").value
        except AdapterParseError:
            return UNPARSABLE


THROUGH_DSPY = [
    (ShortAnswer, "Answer: Paris\nExplanation: it is the capital.", "Paris"),
    (ShortAnswer, "The answer is **Paris**.", "Paris"),
    (ShortAnswer, "The Answer", "The Answer"),
    (Numbers, "[1] [4]", [1, 4]),
    (Numbers, "* [1]\n* [4]", [1, 4]),
    (Numbers, "1 and 4", [1, 4]),
    (Numbers, "Passages 1 and 4.", [1, 4]),
    (Numbers, "1-3", [1, 2, 3]),
    (Numbers, "None", []),
    (Numbers, "", []),
    (Numbers, "none of them", []),
    (Numbers, "I am not sure", UNPARSABLE),
    (YesNo, "Yes, because [1] says so.", "yes"),
    (YesNo, "**No**", "no"),
    (YesNo, "The answer is no.", "no"),
    (YesNo, "True", "yes"),
    (YesNo, "Yes and no.", UNPARSABLE),
    (Action, "Finish[Paris]", "finish"),
    (Action, "**search**", "search"),
    (Texts, "- a b\n- c [1]", ["a b", "c [1]"]),
    (Texts, "a; b", ["a", "b"]),
    (Statements, '{"statement": "a", "passages": "[1]"}', [Statement(statement="a", passages=[1])]),
    (Statements, "- A is b [1] [2].", [Statement(statement="A is b.", passages=[1, 2])]),
    (Statements, "[]", []),
    (Probability, "5%", 0.05),
    (Probability, "0,05", 0.05),
    (Probability, "low", UNPARSABLE),
    (ProbabilityOrNone, "low", None),
]


@pytest.mark.parametrize(("type_", "written", "meant"), THROUGH_DSPY)
@pytest.mark.parametrize(
    ("adapter", "reply"), [(dspy.ChatAdapter(), chat), (dspy.JSONAdapter(), as_json), (dspy.XMLAdapter(), xml)]
)
def test_the_types_work_with_every_adapter_of_dspy(
    adapter: dspy.Adapter, reply: Any, type_: Any, written: str, meant: Any
) -> None:
    assert asked(adapter, type_, reply(written)) == meant


@pytest.mark.parametrize(("type_", "written", "meant"), THROUGH_DSPY)
def test_pydantic_reads_the_same(type_: Any, written: Any, meant: Any) -> None:
    try:
        seen = pydantic.TypeAdapter(type_).validate_python(written)
    except pydantic.ValidationError:
        seen = UNPARSABLE
    assert seen == meant


def test_nested_elements_of_xml() -> None:
    items = "<item>1</item><item>4</item>"
    assert asked(dspy.XMLAdapter(), Numbers, f"<thought>so</thought><value>{items}</value>") == [1, 4]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "short answer"])
@pytest.mark.parametrize("adapter", [dspy.ChatAdapter(), dspy.JSONAdapter()])
def test_a_prompt_shows_the_plain_type(adapter: dspy.Adapter, kind: str) -> None:
    type_, plain = KINDS[kind]
    seen, wanted = (adapter.format(signature(one), [], {"question": "?"}) for one in (type_, plain))
    if plain is float:
        seen = json.loads(json.dumps(seen).replace(NUMBER_NOTE, FLOAT_NOTE).replace(NUMBER_NOTE_IN_JSON, FLOAT_NOTE))
    assert seen == wanted


FLOAT_NOTE = "must be a single float value"
NUMBER_NOTE = json.dumps('must adhere to the JSON schema: {"type": "number"}')[1:-1]
NUMBER_NOTE_IN_JSON = json.dumps(json.dumps('must adhere to the JSON schema: {"type": "number"}')[1:-1])[1:-1]


@pytest.mark.parametrize("kind", KINDS)
def test_decoding_by_schema_sees_the_plain_type(kind: str) -> None:
    type_, plain = KINDS[kind]
    seen, wanted = (_get_structured_outputs_response_format(signature(one)) for one in (type_, plain))
    assert seen.model_json_schema() == wanted.model_json_schema()


@pytest.mark.parametrize("adapter", [dspy.ChatAdapter(), dspy.JSONAdapter(), dspy.XMLAdapter()])
@pytest.mark.parametrize(
    ("type_", "value"),
    [(Numbers, [1, 4]), (YesNo, "no"), (Texts, ["a"]), (Probability, 0.5), (Action, "search"), (ShortAnswer, "Paris")],
)
def test_a_value_shown_in_a_demonstration_is_read_back(adapter: dspy.Adapter, type_: Any, value: Any) -> None:
    shown = adapter.format_assistant_message_content(signature(type_), {"thought": "so", "value": value})
    assert adapter.parse(signature(type_), shown) == {"thought": "so", "value": value}


def test_a_signature_with_reply_types_can_be_pickled_and_saved() -> None:
    program = dspy.Predict(signature(Action))
    again = cloudpickle.loads(cloudpickle.dumps(program))
    assert again.signature.output_fields["value"].annotation.read("Search.") == "search"
    again.load_state(program.dump_state())


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=6,
)
WORDS = {piece for kind in KINDS for written, _ in cases(kind) for piece in re.findall(r"\w+|\W", str(written)[:200])}
PIECES = st.lists(st.sampled_from(sorted(WORDS)), max_size=40).map(" ".join)


@given(ANYTHING | PIECES)
def test_anything_gives_a_value_of_the_type_or_is_unparsable(written: Any) -> None:
    checks: dict[Any, Any] = {
        ShortAnswer: lambda seen: isinstance(seen, str),
        Numbers: lambda seen: all(type(n) is int for n in seen) and len(set(seen)) == len(seen),
        YesNo: lambda seen: seen in ("yes", "no"),
        YesNoOrNone: lambda seen: seen in ("yes", "no", None),
        YesNoOrUnanswerable: lambda seen: seen in ("yes", "no", "unanswerable"),
        Action: lambda seen: seen in ("search", "finish"),
        Better: lambda seen: seen in ("first", "second"),
        Texts: lambda seen: all(isinstance(item, str) and item for item in seen),
        Keywords: lambda seen: all(isinstance(item, str) and item for item in seen),
        Statements: lambda seen: all(isinstance(one, Statement) and one.statement for one in seen),
        Probability: lambda seen: 0 <= seen <= 1,
        ProbabilityOrNone: lambda seen: seen is None or 0 <= seen <= 1,
    }
    for type_, right in checks.items():
        seen = read(type_, written)
        assert seen is UNPARSABLE or right(seen), (type_, seen)


@given(st.lists(st.integers(1, 100), unique=True))
def test_numbers_come_back_in_whatever_form_they_are_listed(numbers: list[int]) -> None:
    for form in (json.dumps(numbers), ", ".join(map(str, numbers)), " ".join(f"[{n}]" for n in numbers), str(numbers)):
        assert Numbers.read(form) == numbers
    assert Numbers.read("\n".join(f"- Passage {n}" for n in numbers)) == numbers


@given(st.lists(st.from_regex(r"[A-Z][a-z]{2,9} [a-z]{2,9}\?", fullmatch=True), min_size=2, unique=True))
def test_texts_come_back_in_whatever_form_they_are_listed(texts: list[str]) -> None:
    for bullet in ("- {}", "* {}", "{n}. {}", "{n}) {}", "{}", '- "{}"', "**{n}.** {}", "[{n}] {}"):
        assert Texts.read("\n".join(bullet.format(text, n=n) for n, text in enumerate(texts, 1))) == texts
    for line in ("; ".join(texts), json.dumps(texts), f"```json\n{json.dumps(texts)}\n```", str(texts)):
        assert Texts.read(line) == texts


@pytest.mark.slow
@pytest.mark.parametrize("piece", RUNAWAYS)
@pytest.mark.parametrize("type_", TYPES)
def test_a_reply_that_runs_away_takes_no_time(type_: Any, piece: str) -> None:
    begin = time.process_time()
    read(type_, "x\n" + piece * (100_000 // len(piece)))
    assert time.process_time() - begin < CPU_SECONDS


@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal(text: str) -> None:
    assert is_refusal(text)
    assert is_refusal(f" {text.lower()}\n")


@pytest.mark.parametrize("text", NO_REFUSALS)
def test_an_answer_is_no_refusal(text: str) -> None:
    assert not is_refusal(text)


def test_no_answer_at_all_is_no_refusal() -> None:
    assert not is_refusal(None)


@given(st.text())
def test_whatever_text_is_a_refusal_or_not(text: str) -> None:
    assert is_refusal(text) in (True, False)
