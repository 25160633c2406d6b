"""p(word) and the mean over a field by hand, and what providers make of a request for log-probabilities."""

import json
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.utils.exceptions import AdapterParseError, LMAuthError
from hypothesis import given
from hypothesis import strategies as st
from support.recorded_replies import read_after, recorded, signatures
from support.scripted import Function, engine_lm, render

from programs.steps.logprobs import Token, ask_with_logprobs, find_field, mean_probability, word_probability
from programs.steps.text import simplify
from signatures.adapters import ChatAdapter, JSONAdapter, XMLAdapter
from signatures.replies import YesNo


class Act(dspy.Signature):
    """Do something."""

    question: str = dspy.InputField()
    candidate: str = dspy.OutputField()


class Reasoned(dspy.Signature):
    """Do something with more fields."""

    question: str = dspy.InputField()
    reasoning: str = dspy.OutputField(default_factory=str)
    candidate: str = dspy.OutputField()
    number: str = dspy.OutputField(default_factory=str)


FILE = Path(__file__).parents[2] / "data" / "recorded_replies.jsonl"
ADAPTERS = [ChatAdapter(), JSONAdapter(), XMLAdapter()]
HEAD = [Token(text, 0.9, {}) for text in ("[[", " ##", " candidate", " ##", " ]]", "\n")]
TAIL = [Token(text, 0.9, {}) for text in ("\n\n", "[[", " ##", " completed", " ##", " ]]")]


def reply(*tokens: tuple[str, float] | tuple[str, float, dict[str, float]]) -> list[Token]:
    return [*HEAD, *(Token(token[0], token[1], token[2] if len(token) == 3 else {}) for token in tokens), *TAIL]


def p(tokens: list[Token], signature: type[dspy.Signature] = Act, name: str = "candidate") -> float | None:
    found = find_field(signature, name, read(tokens, signature).get(name), tokens)
    return word_probability("unknown", found) if found else None


def mean(tokens: list[Token], signature: type[dspy.Signature] = Act) -> float | None:
    found = find_field(signature, "candidate", read(tokens, signature).get("candidate"), tokens)
    return mean_probability(found) if found else None


def read(tokens: list[Token], signature: type[dspy.Signature]) -> dict[str, Any]:
    """The reply as programs read it: by the first adapter that can."""
    for adapter in ADAPTERS:
        try:
            return adapter.parse(signature, "".join(token.text for token in tokens))  # type: ignore[no-any-return]
        except AdapterParseError:
            continue
    return {}


@pytest.mark.parametrize(
    ("tokens", "probability"),
    [
        pytest.param(reply(("unknown", 0.75)), 0.75, id="one token"),
        pytest.param(reply(("un", 0.8), ("known", 0.5)), 0.8 * 0.5, id="several tokens"),
        pytest.param(reply(('"', 0.5), ("Unknown", 0.6), ('."', 0.9)), 0.5 * 0.6 * 0.9, id="case and quotes"),
        pytest.param(reply((" ", 0.1), ("unknown", 0.7), (" ", 0.1)), 0.7, id="white space around it"),
        pytest.param(
            [*HEAD[:5], Token('\n"', 0.5, {}), Token("unknown", 0.8, {}), Token('"\n\n', 0.5, {}), *TAIL[1:]],
            0.5 * 0.8 * 0.5,
            id="tokens that reach over the ends of the value",
        ),
        # 0.2 + 0.05 for the two spellings; "unknowns", "un" and "a" do not complete the word.
        pytest.param(
            reply(
                ("Paris", 0.6, {"unknown": 0.2, "Unknown": 0.05, "unknowns": 0.04, "un": 0.01, "a": 0.1}),
                (" Texas", 0.9, {"unknown": 0.1}),
            ),
            0.25,
            id="among the alternatives to another candidate",
        ),
        # 0.1 at once; behind "un" (0.5), which was taken: 0.5 * 0.3; behind "united" nothing can come any more.
        pytest.param(
            reply(("un", 0.5, {"unknown": 0.1}), ("ited", 0.6, {"known": 0.3}), (" states", 1.0, {"unknown": 0.9})),
            0.1 + 0.5 * 0.3,
            id="alternatives as long as the word can be completed",
        ),
        # Taken: 0.6; instead of it: "Unknown" 0.2 and the quoted one, whose quote alone does not complete the word.
        pytest.param(reply(("unknown", 0.6, {"Unknown": 0.2, '"': 0.1, "Paris": 0.05})), 0.8, id="the ways add up"),
        pytest.param(reply(("unknown", 0.9), (" soldier", 0.7, {"\n\n": 0.25})), 0.9 * 0.25, id="more behind the word"),
        pytest.param(reply(("Paris", 0.6)), 0.0, id="no alternatives"),
        pytest.param(reply(("unknown", 0.9, {"Unknown": 0.11})), 1.0, id="rounded to one"),
        pytest.param(reply((" ", 0.5)), None, id="an empty field"),
    ],
)
def test_the_probability_of_the_word(tokens: list[Token], probability: float | None) -> None:
    assert p(tokens) == (None if probability is None else pytest.approx(probability))


def test_only_the_wanted_field_is_looked_at() -> None:
    def field(name: str, value: str, p: float) -> list[Token]:
        return [Token(f"[[ ## {name} ## ]]", 0.5, {}), Token("\n", 0.5, {}), Token(value, p, {"Unknown": 0.2})]

    tokens = [*field("reasoning", "unknown", 0.9), Token("\n", 1, {}), *field("candidate", "Paris", 0.9)]
    assert p(tokens, Reasoned) == pytest.approx(0.2)
    tokens = [*field("candidate", "unknown", 0.3), Token("\n", 1, {}), *field("number", "unknown", 0.9)]
    assert p(tokens, Reasoned) == pytest.approx(0.3 + 0.2)


OUT_OF_FORM = {
    "marker in another case": "[[ ## Candidate ## ]]\n{}\n\n[[ ## COMPLETED ## ]]",
    "marker cut off": "[[ ## candidate ##\n{}",
    "marker inside a line": "Here it is: [[ ## candidate ## ]] {}",
    "heading": "Sure!\n\n**Candidate:** {}",
    "fenced JSON": '```json\n{{"Candidate": "{}"}}\n```',
    "nested JSON": 'The answer: {{"outputs": {{"candidate": "{}"}}}}',
    "JSON that breaks off": '{{"candidate": "{}',
    "XML in another case": "<Candidate>{}</candidate>",
    "XML that breaks off": "<candidate>\n{}",
    "no form at all": "{}",
    "a thought first": "<think>It is Lund.</think>{}",
}


@pytest.mark.parametrize("form", OUT_OF_FORM.values(), ids=OUT_OF_FORM)
@pytest.mark.parametrize("value", ["Lund", "candidate", "the town"])
def test_a_reply_out_of_form_is_measured_at_the_value_that_is_read(form: str, value: str) -> None:
    before, _, after = form.replace("{{", "{").replace("}}", "}").partition("{}")
    tokens = [Token(before, 0.9, {}), Token(value, 0.3, {"unknown": 0.2}), Token(after, 0.9, {})]
    tokens = [token for token in tokens if token.text]
    assert mean(tokens) == pytest.approx(0.3)
    assert p(tokens) == pytest.approx(0.2)


FORMS = {
    "chat": [
        "[[ ## reasoning ## ]]\n",
        "Lund",
        ".\n\n[[ ## candidate ## ]]\n",
        "Lund",
        "\n\n[[ ## number ## ]]\n",
        "Lund",
    ],
    "json": ['{"reasoning": "It is ', "Lund", '.", "candidate": "', "Lund", '", "number": "', "Lund", '"}'],
    "xml": ["<reasoning>", "Lund", "</reasoning><candidate>", "Lund", "</candidate><number>", "Lund", "</number>"],
    "bare": ["It is ", "Lund", ".\n**Candidate**: ", "Lund", "\n**Number**: ", "Lund"],
    "twice": ["It is ", "Lund", ".\nCandidate: ", "Lund", "\nNumber: ", "Lund", "\nCandidate: Malmö"],
    "keys in another order": ['{"number": "', "Malmö", '", "candidate": "', "Lund", '", "reasoning": "', "Lund", '"}'],
}


@pytest.mark.parametrize("parts", FORMS.values(), ids=FORMS)
def test_of_a_repeated_value_the_one_in_the_field_counts(parts: list[str]) -> None:
    tokens = [Token(part, 0.5 if n == 3 else 0.9, {}) for n, part in enumerate(parts)]
    assert mean(tokens, Reasoned) == pytest.approx(0.5)


def test_a_number_and_escaped_text_in_json_are_found() -> None:
    assert mean([Token('{"candidate": ', 0.9, {}), Token("1936", 0.4, {}), Token("}", 0.9, {})]) == pytest.approx(0.4)
    for written in (r"the \"town\"", r"Malm\u00f6", "Malmö", r"two\nlines"):
        tokens = [Token('{"candidate": "', 0.9, {}), Token(written, 0.4, {}), Token('"}', 0.9, {})]
        assert mean(tokens) == pytest.approx(0.4)
    tokens = [Token("<candidate>", 0.9, {}), Token("Marks &amp; Co", 0.4, {}), Token("</candidate>", 0.9, {})]
    assert mean(tokens) == pytest.approx(0.4)


def test_a_value_that_is_not_the_predictions_or_not_in_the_text_is_not_found() -> None:
    tokens = [Token('{"candidate": ["Lund", "Malmö"]}', 0.9, {})]
    assert read(tokens, Act) == {"candidate": "Lund\nMalmö"}
    assert mean(tokens) is None
    assert find_field(Act, "candidate", "Paris", reply(("Lund", 0.5))) is None


def test_a_field_of_another_type_is_found_as_it_is_written() -> None:
    class Judge(dspy.Signature):
        """Judge."""

        right: YesNo = dspy.OutputField()

    tokens = [Token("[[ ## right ## ]]\n", 0.9, {}), Token("**Yes**", 0.4, {}), Token(", because …", 0.9, {})]
    field = find_field(Judge, "right", "yes", tokens)
    assert field is not None
    assert "".join(token.text for token in tokens)[field.start : field.end] == "**Yes**, because …"


def test_every_candidate_that_stands_in_a_recorded_reply_is_found() -> None:
    asked = {one.__name__: one for one in signatures() if "candidate" in one.output_fields}
    replies = [one for one in recorded(FILE) if one.signature in asked]
    candidates = [(one, fields["candidate"]) for one in replies if (fields := read_after(one)) and fields["candidate"]]
    found = 0
    for one, value in candidates:
        field = find_field(asked[one.signature], "candidate", value, [Token(char, 0.5, {}) for char in one.text])
        found += field is not None
        assert field is None or value in one.text[field.start : field.end]
    assert found > len(candidates) * 0.8  # not in an object in place of an answer, which has no place of its own


def test_the_reply_of_the_json_adapter() -> None:
    tokens = [Token('{"candidate":', 0.9, {}), Token(' "', 0.9, {}), Token("unknown", 0.7, {}), Token('"}', 0.9, {})]
    assert p(tokens) == pytest.approx(0.7)
    tokens = [Token('{"candidate": "', 0.9, {}), Token('The \\"unknown\\"', 0.7, {}), Token('"}', 0.9, {})]
    assert p(tokens) == 0.0


def test_the_reply_of_the_xml_adapter() -> None:
    parts = [("<candidate>", 0.9), ("\nun", 0.8), ("known", 0.5), ("\n</candidate>", 0.9)]
    assert p([Token(text, odds, {}) for text, odds in parts]) == pytest.approx(0.8 * 0.5)


@pytest.mark.parametrize("text", ["", "[[ ## other ## ]]\nunknown", "<other>unknown</other>"])
def test_a_reply_without_the_field_gives_no_probability(text: str) -> None:
    assert p([Token(text, 0.5, {})]) is None


@given(st.lists(st.tuples(st.text(), st.floats(0, 1), st.dictionaries(st.text(), st.floats(0, 1)))))
def test_whatever_the_tokens_it_is_a_probability(tokens: list[tuple[str, float, dict[str, float]]]) -> None:
    found = p([*HEAD, *(Token(*token) for token in tokens)])
    assert found is None or 0 <= found <= 1


def test_the_certainty_of_a_field_is_the_geometric_mean_over_its_tokens() -> None:
    assert mean(reply(("Lund", 0.4))) == pytest.approx(0.4)
    assert mean(reply(("the", 0.5), (" town", 0.9), (" Lund", 0.6, {"of": 0.3}))) == pytest.approx(0.27 ** (1 / 3))
    assert mean(reply((" ", 0.1), ("Lund", 0.4), (" ", 0.1))) == pytest.approx(0.4)


def test_tokens_that_reach_over_the_ends_of_a_field_count() -> None:
    tokens = [Token('{"candidate": "', 0.9, {}), Token("Lu", 0.8, {}), Token('nd"}', 0.5, {})]
    assert mean(tokens) == pytest.approx((0.8 * 0.5) ** 0.5)


def test_a_token_without_probability_leaves_none() -> None:
    assert mean(reply(("Lund", 0.0), (" S", 0.9))) == 0.0


@pytest.mark.parametrize("tokens", [[], [Token("{}", 0.5, {})], reply((" ", 0.5))])
def test_no_certainty_without_the_field(tokens: list[Token]) -> None:
    assert mean(tokens) is None


@given(st.lists(st.tuples(st.text(), st.floats(0, 1))))
def test_whatever_the_tokens_the_certainty_is_a_probability(tokens: list[tuple[str, float]]) -> None:
    found = mean([*HEAD, *(Token(text, p, {}) for text, p in tokens)])
    assert found is None or 0 <= found <= 1


@pytest.mark.slow
def test_long_replies_take_no_long_time() -> None:
    for text in (" " * 100_000, "[[ ## " * 20_000, "\n" * 100_000 + "x", '"\\' * 50_000):
        assert p([*HEAD, Token(text, 0.5, {})]) in (0.0, None)
        assert p([Token('{"candidate": "' + text, 0.5, {})]) in (0.0, None)


@pytest.mark.parametrize("text", ["unknown", " Unknown.", "“UNKNOWN”", "'unknown'\n", "`unknown`"])
def test_bare(text: str) -> None:
    assert simplify(text) == "unknown"


TOKENS = ["[[ ## candidate ## ]]", "\n", "un", "known", "\n\n[[ ## completed ## ]]"]


@contextmanager
def server(mode: str, logprob: float = math.log(0.5)) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """An OpenAI-compatible server that gives log-probabilities, ignores the wish for them or refuses it."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(body)
            wants = body.get("logprobs") is True
            if mode == "denies" or (mode == "refuses" and wants):
                return self.answer(401 if mode == "denies" else 400, {"error": {"message": "no logprobs for you"}})
            choice: dict[str, Any] = {"index": 0, "finish_reason": "stop"}
            choice["message"] = {"role": "assistant", "content": "".join(TOKENS)}
            if mode == "gives" and wants:
                entry = {"logprob": logprob, "bytes": None}
                others = [{"token": text, "logprob": math.log(0.1), "bytes": None} for text in ("un", "Unknown", "x")]
                choice["logprobs"] = {"content": [{"token": t, **entry, "top_logprobs": others} for t in TOKENS]}
            usage = {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}
            return self.answer(
                200, {"id": "1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}
            )

        def answer(self, status: int, body: dict[str, Any]) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            pass

    served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=served.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{served.server_port}/v1", asked
    finally:
        served.shutdown()
        thread.join()
        served.server_close()


def lm_at(url: str, *, cache: bool = False) -> dspy.LM:
    return dspy.LM("openai/some", api_base=url, api_key="k", cache=cache, num_retries=0)


def test_a_server_that_gives_them() -> None:
    with server("gives") as (url, asked), dspy.context(lm=lm_at(url), trace=[]):
        scored = ask_with_logprobs(dspy.Predict(Act), "candidate", question="q")
        trace = dspy.settings.trace
    assert scored is not None
    prediction, field = scored
    assert field is not None
    tokens = field.tokens
    assert prediction.candidate == "unknown"
    assert (asked[0]["logprobs"], asked[0]["top_logprobs"]) == (True, 20)
    assert [token.text for token in tokens] == TOKENS
    assert tokens[3].probability == pytest.approx(0.5)
    # "Unknown" instead of "un", or "un" and "known"; what the LM took is not an alternative to itself
    assert p(tokens) == pytest.approx(0.1 + 0.5 * 0.5)
    assert set(tokens[2].others) == {"Unknown", "x"}
    # What is learned from the trace has no numbers of tokens in it.
    assert trace[0][2].toDict() == {"candidate": "unknown"}


def test_a_log_probability_that_rounding_takes_above_zero_is_a_certainty() -> None:
    with server("gives", logprob=1e-6) as (url, _), dspy.context(lm=lm_at(url)):
        scored = ask_with_logprobs(dspy.Predict(Act), "candidate", question="q")
    assert scored is not None
    assert scored[1] is not None
    assert {token.probability for token in scored[1].tokens} == {1.0}
    assert mean_probability(scored[1]) == 1.0


def test_a_reply_from_the_cache_has_them_too() -> None:
    with server("gives") as (url, asked), dspy.context(lm=lm_at(url, cache=True)):
        first = ask_with_logprobs(dspy.Predict(Act), "candidate", question="a question asked twice")
        again = ask_with_logprobs(dspy.Predict(Act), "candidate", question="a question asked twice")
    assert first is not None
    assert again is not None
    assert first[1] == again[1] is not None
    assert len(asked) == 1


def test_a_server_that_ignores_the_wish_gives_no_tokens() -> None:
    with server("ignores") as (url, _), dspy.context(lm=lm_at(url)):
        scored = ask_with_logprobs(dspy.Predict(Act), "candidate", question="q")
    assert scored is not None
    assert (scored[0].candidate, scored[1]) == ("unknown", None)


def test_a_server_that_refuses_has_to_be_asked_without() -> None:
    with server("refuses") as (url, asked), dspy.context(lm=lm_at(url)):
        assert ask_with_logprobs(dspy.Predict(Act), "candidate", question="q") is None
    assert len(asked) == 1


def test_other_errors_of_the_provider_are_raised() -> None:
    with server("denies") as (url, _), dspy.context(lm=lm_at(url)), pytest.raises(LMAuthError):
        ask_with_logprobs(dspy.Predict(Act), "candidate", question="q")


class Offers(Function):
    supported_params = ("logprobs",)
    supports_reasoning = False


def test_an_lm_that_does_not_offer_them_is_not_asked() -> None:
    def fail(system: str, user: str) -> str:
        raise AssertionError("asked")

    thinker = Offers(fail)
    thinker.supports_reasoning = True
    for engine_ in (Function(fail), thinker):
        with dspy.context(lm=engine_lm(engine_)):
            assert ask_with_logprobs(dspy.Predict(Act), "candidate", question="q") is None


def test_a_reply_that_cannot_be_parsed() -> None:
    with dspy.context(lm=engine_lm(Offers(lambda system, user: "{}"))):
        scored = ask_with_logprobs(dspy.Predict(Act), "candidate", question="q")
    assert scored is not None
    assert (scored[0].candidate, scored[1]) == (None, None)


def test_the_predictors_own_lm_is_the_one_that_counts() -> None:
    predictor = dspy.Predict(Act)
    predictor.lm = engine_lm(Offers(lambda system, user: render({"candidate": "Paris"})))
    with dspy.context(lm=engine_lm(Function(lambda system, user: render({"candidate": "Rome"})))):
        scored = ask_with_logprobs(predictor, "candidate", question="q")
    assert scored is not None
    assert scored[0].candidate == "Paris"
