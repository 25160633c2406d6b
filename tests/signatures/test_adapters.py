"""The adapters find the fields of replies that are not quite in form, and ask with DSPy's own prompts."""

import asyncio
import json
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request, Response, response_to_events
from dspy.utils.exceptions import AdapterParseError
from hypothesis import given, settings
from hypothesis import strategies as st
from support.patience import CPU_SECONDS
from support.reply_cases import RUNAWAYS
from support.scripted import Function, engine_lm, respond

from signatures.adapters import ChatAdapter, JSONAdapter, XMLAdapter
from signatures.replies import Numbers, Probability, ShortAnswer, Statement, Statements, YesNo

ADAPTERS = [ChatAdapter(use_json_adapter_fallback=False), JSONAdapter(), XMLAdapter(use_json_adapter_fallback=False)]


class Detect(dspy.Signature):
    """Detect it."""

    question: str = dspy.InputField()
    reasoning: str = dspy.OutputField()
    answer: str = dspy.OutputField()
    relevant: Numbers = dspy.OutputField()
    what_is_missing: str = dspy.OutputField(default_factory=str)


class DetectPlain(Detect):
    """Detect it."""

    relevant: list[int] = dspy.OutputField()


class Answer(dspy.Signature):
    """Answer it."""

    question: str = dspy.InputField()
    answer: str = dspy.OutputField()


class AnswerShortly(Answer):
    """Answer it."""

    answer: ShortAnswer = dspy.OutputField()  # type: ignore[assignment]


class Decide(dspy.Signature):
    """Decide it."""

    question: str = dspy.InputField()
    needed: YesNo = dspy.OutputField()
    why: str = dspy.OutputField(default_factory=str)


class Everything(dspy.Signature):
    """Do it all."""

    question: str = dspy.InputField()
    answer: ShortAnswer = dspy.OutputField()
    numbers: Numbers = dspy.OutputField()
    yes: YesNo = dspy.OutputField()
    statements: Statements = dspy.OutputField()
    probability: Probability = dspy.OutputField()


class EverythingPlain(dspy.Signature):
    """Do it all."""

    question: str = dspy.InputField()
    answer: str = dspy.OutputField()
    numbers: list[int] = dspy.OutputField()
    yes: str = dspy.OutputField()
    statements: list[Statement] = dspy.OutputField()
    probability: float = dspy.OutputField()


FOUND = {"reasoning": "so", "answer": "Paris", "relevant": [1, 4], "what_is_missing": ""}

REPLIES = [
    "[[ ## reasoning ## ]]\nso\n\n[[ ## answer ## ]]\nParis\n\n[[ ## relevant ## ]]\n[1, 4]\n\n[[ ## completed ## ]]",
    "[[ ## Reasoning ## ]]\nso\n[[ ## ANSWER ## ]]\nParis\n[[ ## Relevant ## ]]\n[1, 4]\n[[ ## Completed ## ]]",
    "[[## reasoning ##]]\nso\n[[##answer##]]\nParis\n[[ ## relevant ]]\n[1, 4]",
    "[[reasoning]]\nso\n[[answer]]\nParis\n[[relevant]]\n[1, 4]",
    "## reasoning ##\nso\n## answer ##\nParis\n## relevant ##\n[1, 4]",
    "[[ ## reasoning ## ]] so [[ ## answer ## ]] Paris [[ ## relevant ## ]] [1, 4] [[ ## completed ## ]]",
    "[[ ## relevant ## ]]\n[1, 4]\n[[ ## answer ## ]]\nParis\n[[ ## reasoning ## ]]\nso",
    "Sure:\n\n[[ ## reasoning ## ]]\nso\n[[ ## answer ## ]]\nParis\n[[ ## relevant ## ]]\n1 and 4\n[[ ## compl",
    "so\n[[ ## answer ## ]]\nParis\n[[ ## relevant ## ]]\n[1, 4]",
    "[[ ## reasoning ## ]]\nso\n[[ ## answer ## ]]\nParis\n[[ ## relevant ## ]]\n1, 4\n[[ ## other ## ]]\n7",
    "[[ ## reasoning ## ]]\n{reasoning}\n"
    "[[ ## reasoning ## ]]\nso\n[[ ## answer ## ]]\nParis\n[[ ## relevant ## ]]\n1 4",
    "<think>Is the [[ ## answer ## ]] Rome?</think>\n[[ ## reasoning ## ]]\nso\n[[ ## answer ## ]]\nParis\n"
    "[[ ## relevant ## ]]\n[1] [4]",
    "```\n[[ ## reasoning ## ]]\nso\n[[ ## answer ## ]]\nParis\n[[ ## relevant ## ]]\n[1] [4]\n```",
    "**Reasoning:** so\n**Answer:** Paris\n**Relevant:** 1, 4",
    "**Reasoning**: so\n\n**Answer**: Paris\n\n**Relevant**: [1, 4]",
    "### Reasoning\nso\n\n### Answer\nParis\n\n### Relevant\n- 1\n- 4",
    "Reasoning: so\nFinal answer: Paris\nRelevant: passages 1 and 4",
    "- Reasoning: so\n- Answer: Paris\n- Relevant: 1, 4",
    "1. **Reasoning:** so\n2. **Answer:** Paris\n3. **Relevant:** 1, 4",
    '{"reasoning": "so", "answer": "Paris", "relevant": [1, 4]}',
    '{"Reasoning": "so", "Answer": "Paris", "Relevant": "[1] [4]", "what is missing": null}',
    '```json\n{"reasoning": "so", "answer": "Paris", "relevant": [1, 4]}\n```',
    'Here [it] is:\n```json\n{"reasoning": "so", "answer": "Paris", "relevant": [1, 4]}\n```\nI hope {this} helps.',
    '{"output": {"reasoning": "so", "answer": "Paris", "relevant": ["1", "4"]}}',
    '[{"reasoning": "so", "answer": "Paris", "relevant": [1, 4]}]',
    "{'reasoning': 'so', 'answer': 'Paris', 'relevant': [1, 4],}",
    '{"reasoning": "so", "answer": "Paris", "relevant": [1, 4',
    '{"reasoning": ["so"], "answer": "Paris", "relevant": {"passages": [1, 4]}',
    "<reasoning>so</reasoning>\n<answer>Paris</answer>\n<relevant><item>1</item><item>4</item></relevant>",
    "<Reasoning>so</Reasoning><Answer>\nParis\n</Answer><Relevant>[1, 4]</Relevant>",
    "<reasoning>so\n<answer>Paris\n<relevant>[1] [4]",
    "<reasoning>so</reasoning><answer>Paris</answer><relevant>1, 4</rel",
    "Sure!\n```xml\n<reasoning>so</reasoning><answer>Paris</answer><relevant>1, 4</relevant>\n```",
]


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: type(adapter).__name__)
@pytest.mark.parametrize("reply", REPLIES)
def test_what_is_in_a_reply_is_found(adapter: dspy.Adapter, reply: str) -> None:
    assert adapter.parse(Detect, reply) == FOUND


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: type(adapter).__name__)
@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I think that it is Paris.",
        "[[ ## reasoning ## ]]\nso [[ ## answer ## ]]\nPar",
        '{"reasoning": "so", "answer": "Par',
        "[[ ## reasoning ## ]]\nso\n[[ ## answer ## ]]\nParis\n[[ ## relevant ## ]]\nI am not sure",
        "[" * 1000,
    ],
)
def test_what_is_not_in_a_reply_is_unparsable(adapter: dspy.Adapter, reply: str) -> None:
    with pytest.raises(AdapterParseError) as error:
        adapter.parse(Detect, reply)
    assert error.value.lm_response == reply


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: type(adapter).__name__)
@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Paris", "Paris"),
        ("[[ ## answer ## ]]\nAT&T <1 & 2>\n\n[[ ## completed ## ]]", "AT&T <1 & 2>"),
        ("<answer>AT&T</answer>", "AT&T"),
        ("<answer>AT&amp;T</answer>", "AT&T"),
        ("<answer>a <b>bold</b> one</answer>", "a <b>bold</b> one"),
        ('{"answer": "Paris [1]"}', "Paris [1]"),
        ('{"answer": 1912}', "1912"),
        ("Answer: Paris", "Paris"),
        ("[[ ## answer ## ]]\nAnswer: it", "Answer: it"),
        ("[[ ## answer ## ]]\nthe file [[a]]", "the file [[a]]"),
        ("[[ ## answer ## ]]\n\n[[ ## completed ## ]]", ""),
    ],
)
def test_one_field_of_text(adapter: dspy.Adapter, reply: str, answer: str) -> None:
    assert adapter.parse(Answer, reply) == {"answer": answer}


@pytest.mark.parametrize("name", ["ChatAdapter", "JSONAdapter", "XMLAdapter"])
def test_the_prompt_is_that_of_dspy_for_the_plain_types(name: str) -> None:
    ours = {"ChatAdapter": ChatAdapter, "JSONAdapter": JSONAdapter, "XMLAdapter": XMLAdapter}[name]()
    demos = [{"question": "?", "reasoning": "so", "answer": "Paris", "relevant": [1, 4], "what_is_missing": "x"}]
    inputs = {"question": "Who?"}
    assert ours.format(Detect, demos, inputs) == getattr(dspy, name)().format(DetectPlain, demos, inputs)
    of_all = json.dumps(ours.format(Everything, [], inputs))
    assert "must be a single float value" in of_all
    for number, plain in (("numbers", "list[int]"), ("statements", "list[Statement]")):
        assert f"`{number}` ({plain})" in of_all or name == "XMLAdapter"
    if name == "XMLAdapter":
        assert "<statements><item><statement>...</statement><passages><item>...</item></passages></item>" in of_all


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: type(adapter).__name__)
@pytest.mark.parametrize("signature", [Detect, DetectPlain])
def test_what_a_demonstration_shows_is_read_back(adapter: dspy.Adapter, signature: Any) -> None:
    values = {**FOUND, "answer": "a <b> & c\nd", "what_is_missing": "e"}
    assert adapter.parse(signature, adapter.format_assistant_message_content(signature, values)) == values


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: type(adapter).__name__)
def test_a_chain_of_thought(adapter: dspy.Adapter) -> None:
    with dspy.context(lm=engine_lm(Function(lambda system, user: "So.\n**Answer:** Paris")), adapter=adapter):
        seen = dspy.ChainOfThought(Answer)(question="?")
        reasoning = dspy.OutputField(desc="${reasoning}", default_factory=str)
        optional = dspy.ChainOfThought(Answer, rationale_field=reasoning)(question="?")
    assert seen.toDict() == optional.toDict() == {"reasoning": "So.", "answer": "Paris"}


class Streamed:
    """Sends one reply word by word."""

    def __init__(self, reply: str) -> None:
        self.reply = reply

    def complete(self, request: Request) -> Response:
        return respond(self.reply)

    def stream(self, request: Request) -> Iterator[Any]:
        start, delta, end = response_to_events(respond(self.reply))
        yield start
        for piece in re.findall(r"\w+|\W", self.reply):
            yield replace(delta, delta=replace(delta.delta, text=piece))
        yield end


def streamed(adapter: dspy.Adapter, reply: str, signature: Any = Answer) -> tuple[list[str], str]:
    program = dspy.streamify(dspy.Predict(signature), stream_listeners=[dspy.streaming.StreamListener("answer")])

    async def parts() -> list[Any]:
        return [part async for part in program(question="?")]

    with dspy.context(lm=engine_lm(Streamed(reply)), adapter=adapter):
        *chunks, last = asyncio.run(parts())
    return [chunk.chunk for chunk in chunks], last.answer


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("ChatAdapter", "[[ ## answer ## ]]\nParis is it\n\n[[ ## completed ## ]]"),
        ("JSONAdapter", '{"answer": "Paris is it"}'),
        ("XMLAdapter", "<answer>\nParis is it\n</answer>"),
    ],
)
def test_a_field_is_streamed_as_with_the_adapters_of_dspy(name: str, reply: str) -> None:
    ours = {"ChatAdapter": ChatAdapter, "JSONAdapter": JSONAdapter, "XMLAdapter": XMLAdapter}[name]
    chunks, answer = streamed(ours(), reply)
    assert (chunks, answer) == streamed(getattr(dspy, name)(), reply) == streamed(ours(), reply, AnswerShortly)
    assert answer == "Paris is it"
    assert len(chunks) > 1


@pytest.mark.parametrize(
    ("reply", "relevant"),
    [('{"reasoning": "so", "answer": "Paris", "relevant": null}', []), ('{"answer": "Paris", "relevant": null}', None)],
)
def test_null_is_an_empty_list_and_else_a_field_left_out(reply: str, relevant: list[int] | None) -> None:
    if relevant is None:
        with pytest.raises(AdapterParseError):
            ADAPTERS[1].parse(Detect, reply)
    else:
        assert ADAPTERS[1].parse(Detect, reply)["relevant"] == relevant


@pytest.mark.parametrize("adapter", [ChatAdapter(), XMLAdapter()], ids=lambda adapter: type(adapter).__name__)
def test_the_second_call_for_json_is_tolerant_too(adapter: dspy.Adapter) -> None:
    def reply(system: str, user: str) -> str:
        return '{"Reasoning": "so", "Answer": "Paris", "relevant": "1"}' if "JSON object" in user else "No idea"

    with dspy.context(lm=engine_lm(Function(reply)), adapter=adapter):
        assert dspy.Predict(Detect)(question="?").relevant == [1]


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: type(adapter).__name__)
def test_one_required_field_without_a_marker_is_read_if_it_is_typed(adapter: dspy.Adapter) -> None:
    text, typed = (Answer.append("why", dspy.OutputField(default_factory=str), str), Decide)
    assert adapter.parse(typed, "Yes.") == {"needed": "yes", "why": ""}
    for signature, reply in ((text, "I am thinking about it."), (typed, "I am thinking about it.")):
        with pytest.raises(AdapterParseError):
            adapter.parse(signature, reply)


def test_other_types_are_read_as_dspy_reads_them() -> None:
    signature = dspy.Signature("question -> n: int, items: list[str], maybe: str | None, data: dict[str, float]")
    chat = '[[ ## N ## ]]\n3\n[[ ## items ## ]]\n["a"]\n[[ ## data ## ]]\n{"a": 1}'
    xml = '<N>3</N><items><item>a</item></items><data>{"a": 1}'
    for adapter, reply in ((ADAPTERS[0], chat), (ADAPTERS[2], xml)):
        assert adapter.parse(signature, reply) == {"n": 3, "items": ["a"], "maybe": None, "data": {"a": 1.0}}


WORDS = {piece for reply in [*REPLIES, "```json", "</think>", "\\", "&"] for piece in re.findall(r"[\w ]+|\W+", reply)}
PIECES = st.lists(st.sampled_from(sorted(WORDS)), max_size=30).map("".join)


@given(PIECES | st.text())
def test_any_reply_is_read_or_unparsable(reply: str) -> None:
    for adapter in ADAPTERS:
        for signature in (Detect, DetectPlain, Answer, Everything):
            try:
                seen = adapter.parse(signature, reply)
            except AdapterParseError:
                continue
            assert seen.keys() == signature.output_fields.keys()


@pytest.mark.slow
@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: type(adapter).__name__)
@pytest.mark.parametrize("piece", RUNAWAYS)
def test_a_reply_that_runs_away_takes_no_time(adapter: dspy.Adapter, piece: str) -> None:
    runaway = piece * (100_000 // len(piece))
    chat = f"[[ ## reasoning ## ]]\nso\n[[ ## answer ## ]]\nParis\n[[ ## relevant ## ]]\n{runaway}"
    tags = f"<reasoning>so</reasoning><answer>Paris</answer><relevant>{runaway}"
    for reply in (runaway, "{" + runaway, chat, tags, f"{tags}</relevant>"):
        for signature in (Detect, DetectPlain):
            begin = time.process_time()
            with suppress(AdapterParseError):
                adapter.parse(signature, reply)
            assert time.process_time() - begin < CPU_SECONDS


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: type(adapter).__name__)
def test_repaired_texts_are_plain(adapter: dspy.Adapter) -> None:
    fields = adapter.parse(Detect, "{'reasoning': 'so', 'answer': \"Paris, it's\", 'relevant': [1, 2], 'what")
    assert (fields["answer"], fields["relevant"]) == ("Paris, it's", [1, 2])
    assert {type(fields["reasoning"]), type(fields["answer"])} == {str}


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: type(adapter).__name__)
@pytest.mark.parametrize(
    "reply",
    [
        '{"reasoning": {"type": "string"}, "answer": {"type": "string", "description": "short"}}',
        'Here: {"type": "object", "properties": {"reasoning": {"type": "string"}, "answer": {"type": "string"}}}',
        '{"reasoning": "so", "answer": "{answer}"}',
        "<reasoning>\nso\n</reasoning>\n<answer>\n{answer}\n</answer>",
        "[[ ## reasoning ## ]]\nso\n\n[[ ## answer ## ]]\n{answer}",
        "[[ ## reasoning ## ]]\nso\n\n[[ ## answer ## ]]\n{question}",
        "[[ ## reasoning ## ]]\nso\n\n[[ ## answer ## ]]\n{answer}        # note: the value must be one of: 1; 2",
        "[[ ## reasoning ## ]]\nso\n\n[[ ## answer ## ]]\n${answer}",
    ],
)
def test_what_was_copied_from_the_prompt_is_no_answer(adapter: dspy.Adapter, reply: str) -> None:
    with pytest.raises(AdapterParseError):
        adapter.parse(dspy.ChainOfThought(Answer).predict.signature, reply)


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: type(adapter).__name__)
def test_thoughts_are_no_part_of_a_field(adapter: dspy.Adapter) -> None:
    """Wherever they stand; and of thoughts that break off nothing is read."""
    inside = "[[ ## reasoning ## ]]\nso\n[[ ## answer ## ]]\n<think>Rome?</think>Paris\n[[ ## relevant ## ]]\n[1, 4]"
    as_json = '{"reasoning": "<think>Rome?</think>so", "answer": "Paris", "relevant": [1, 4]}'
    assert adapter.parse(Detect, inside) == adapter.parse(Detect, as_json) == FOUND
    assert adapter.parse(Answer, "Rome? No.</think>\n\nParis<|im_end|>\n<|im_start|>user") == {"answer": "Paris"}
    for reply in ("<think>Rome? Paris?", "[[ ## answer ## ]]\n<think>Rome? [[ ## answer ## ]]\nParis"):
        with pytest.raises(AdapterParseError):
            adapter.parse(Answer, reply)


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: type(adapter).__name__)
def test_text_without_a_marker_is_no_short_answer_where_there_are_other_fields(adapter: dspy.Adapter) -> None:
    answer = dspy.Signature({"question": (str, dspy.InputField()), "answer": (ShortAnswer, dspy.OutputField())}, "Do.")
    assert adapter.parse(answer, "**Paris**") == {"answer": "Paris"}
    with pytest.raises(AdapterParseError):
        adapter.parse(answer.append("why", dspy.OutputField(default_factory=str), str), "I am thinking about it.")


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: type(adapter).__name__)
def test_a_marker_of_the_first_field_is_no_part_of_it(adapter: dspy.Adapter) -> None:
    reply = "[[ ## reasoning ## ]]\nIt is in France.\nAnswer: Paris"
    parsed = adapter.parse(dspy.ChainOfThought(Answer).predict.signature, reply)
    assert parsed == {"reasoning": "It is in France.", "answer": "Paris"}


ODD = st.text() | st.sampled_from(["\0question\0", " a\n", "[[ ## answer ## ]]"])


@pytest.mark.parametrize("adapter", ADAPTERS)
@settings(max_examples=20)
@given(texts=st.lists(ODD, min_size=5, max_size=5))
def test_prompts_are_dspys_whatever_was_asked_before(adapter: dspy.Adapter, texts: list[str]) -> None:
    theirs = getattr(dspy, type(adapter).__name__)()
    demos = [
        {"question": texts[0], "reasoning": texts[1], "answer": texts[2], "relevant": [1], "what_is_missing": ""},
        {"question": texts[3], "answer": texts[4]},
    ]
    for signature in (DetectPlain, DetectPlain.with_instructions("Detect it otherwise."), Answer):
        for shown, question in ((demos, texts[4]), ([], texts[0]), (demos, [texts[1], texts[2]])):
            asked: Any = signature, shown, {"question": question}
            assert adapter.format(*asked) == theirs.format(*asked)
