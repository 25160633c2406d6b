"""Says in words what went wrong in a run, so that an LM can write better instructions, predictor by predictor.

Each finding comes from a comparison with the gold: a gold passage that no query found, one that the filter dropped, a
needless one that it kept, information called missing that was there, a citation that does not hold, an answer that the
evidence states and that was not taken. Nothing here knows a method: what a predictor does is read from the fields of
its signature, and from whether a query contains what it wrote.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import dspy

from eval.metrics import Metric
from eval.metrics.answers import answer_of
from eval.metrics.gold import golds_of, statable, states
from optimizers.gold import (
    field_of,
    follows,
    gold_titles,
    is_right,
    numbered,
    passages_of,
    searched_with,
    title_of,
    titles_of,
)
from signatures.replies import is_refusal

__all__ = ["explained", "filter_f1"]


def explained(metric: Metric) -> Callable[..., dspy.Prediction]:
    """The metric, with reasons in words: GEPA asks for them predictor by predictor, SIMBA for the whole run.

    Args:
        metric: Gives the score of the run; 0 if it is undefined. GEPA knows no other score, not even for one predictor.
            To let a predictor learn by a score of its own, let it learn alone: `odqa optimize … --only select
            --metric filter_f1`.

    Returns:
        A metric by GEPA's protocol: it returns predictions with `score` and `feedback`. It says most about questions
        that have `gold_titles`, and about programs that report `queries`, `passages` and `evidence` like the methods
        here.
    """

    def judged(
        example: dspy.Example,
        prediction: dspy.Prediction,
        trace: Any = None,
        pred_name: str | None = None,
        pred_trace: Any = None,
    ) -> dspy.Prediction:
        score = metric(example, prediction, trace) or 0.0
        findings = [_verdict(example, prediction)]
        if pred_trace:
            for _, inputs, outputs in pred_trace:
                # No search follows the last call, even if it repeats what was searched with.
                if not (trace and trace[-1][2] is outputs) and searched_with(outputs, prediction):
                    findings += _of_query(example, prediction, trace or ())
                findings += _of_predictor(example, inputs, outputs)
        else:
            findings += _of_run(example, prediction)
        return dspy.Prediction(score=score, feedback=" ".join(dict.fromkeys(filter(None, findings))))

    judged.__name__ = metric.__name__
    return judged


def filter_f1(example: dspy.Example, prediction: dspy.Prediction, trace: Any = None, *_: Any) -> float | None:
    """F1, by title, of the passages kept as evidence against the gold passages among those found.

    Gold passages that were never found do not count, so this judges the filter alone. None if no gold passage was
    found, or if the program does not report both `passages` and `evidence`.
    """
    gold = gold_titles(example)
    found, kept = titles_of(prediction.get("passages")), titles_of(prediction.get("evidence"))
    if found is None or kept is None or not gold & found:
        return None
    return 2 * len(gold & kept) / (len(gold & found) + len(kept))


def _verdict(example: dspy.Example, prediction: dspy.Prediction) -> str:
    golds, answer = golds_of(example), answer_of(prediction)
    if not golds:
        return ""
    if is_right(answer, golds):
        return f"The final answer {answer!r} is right."
    longer = states(answer, golds)
    reason = ", and it is to stand alone" if longer else ""
    return f"The final answer should be {golds[0]!r}, but was {answer!r}{reason}."


def _of_run(example: dspy.Example, prediction: dspy.Prediction) -> list[str]:
    """What the whole run tells."""
    gold = gold_titles(example)
    found, kept = titles_of(prediction.get("passages")), titles_of(prediction.get("evidence"))
    findings = []
    if found is not None:
        findings.append(_unfound(gold - found))
    if found is not None and kept is not None:
        findings.append(_dropped(gold & found - kept))
        findings.append(_distracting(kept - gold if gold else set()))
    evidence = " ".join(passage.text for passage in passages_of(prediction.get("evidence")) or ())
    findings.append(_overlooked(evidence, "The evidence", answer_of(prediction), statable(example)))
    # Some programs cite text that the LM wrote, which they report in a field of its own.
    known = {passage.id: passage for field in prediction.values() for passage in passages_of(field) or ()}
    for fact in prediction.get("known_facts") or ():
        cited = [known[id_] for id_ in fact["passages"] if id_ in known]
        findings.append(
            _unsupported(fact["fact"], [f"{passage.title} {passage.text}" for passage in cited], example.question)
        )
    return findings


def _of_predictor(example: dspy.Example, inputs: dict[str, Any], outputs: dspy.Prediction) -> list[str]:
    """What one call tells by what it was shown and what it said."""
    golds = statable(example)
    shown = numbered(inputs)
    findings: list[str] = []
    if isinstance(outputs.get("relevant"), list):
        findings += _of_filter(gold_titles(example), shown, outputs["relevant"])
    if isinstance(outputs.get("statements"), list):
        question = str(inputs.get("question") or example.question)
        findings += _of_statements(gold_titles(example), shown, outputs["statements"], question)
    if "missing" in outputs:
        findings.append(_of_missing(shown, str(outputs.get("answer") or ""), golds))
    elif "answer" in outputs and shown:
        context = " ".join(shown.values())
        findings.append(_overlooked(context, "The passages", str(outputs["answer"]), golds))
        if golds and not states(context, golds):
            findings.append(f"The passages do not state {golds[0]!r}.")
    return findings


def _of_query(example: dspy.Example, prediction: dspy.Prediction, trace: Sequence[Any]) -> list[str]:
    gold, found = gold_titles(example), titles_of(prediction.get("passages"))
    if found is None or not gold:
        return []
    read = {title_of(line) for _, inputs, _ in trace for line in numbered(inputs).values()}
    unread = gold & found - read if read & found else set()
    if gold <= found and not unread:
        return ["What was written was searched with, and all the passages that are needed were found."]
    queries = "; ".join(repr(query) for query in prediction.queries)
    return [
        f"What was written was searched with: the queries were {queries}.",
        _unfound(gold - found),
        f"These passages are needed and were found, but too far down to be read: {_list(unread)}." if unread else "",
    ]


def _of_filter(gold: set[str], shown: dict[int, str], relevant: Sequence[Any]) -> list[str]:
    if not gold:
        return []
    right = {number for number, text in shown.items() if title_of(text) in gold}
    chosen = {number for number in relevant if number in shown}
    unknown = [number for number in relevant if number not in shown]
    return [
        f"Of the numbered passages {_numbers(right)} are relevant."
        if right
        else "None of the numbered passages is relevant.",
        _dropped({f"[{n}] {title_of(shown[n])}" for n in right - chosen}),
        _distracting({f"[{n}] {title_of(shown[n])}" for n in chosen - right}),
        f"No passage has the number {', '.join(map(str, unknown))}." if unknown else "",
    ]


def _of_statements(gold: set[str], shown: dict[int, str], statements: Iterable[Any], question: str) -> list[str]:
    findings, cited = [], set()
    for statement in statements:
        text, numbers = field_of(statement, "statement"), field_of(statement, "passages")
        cited |= {n for n in numbers if n in shown}
        findings.append(_unsupported(text, [shown[n] for n in numbers if n in shown], question))
    idle = {f"[{n}] {title_of(shown[n])}" for n in cited if gold and title_of(shown[n]) not in gold}
    if idle:
        findings.append(f"These passages are not needed, and statements were taken from them: {_list(idle)}.")
    unused = {f"[{n}] {title_of(text)}" for n, text in shown.items() if title_of(text) in gold and n not in cited}
    if unused:
        findings.append(f"These passages are needed, and nothing was taken from them: {_list(unused)}.")
    return findings


def _of_missing(shown: dict[int, str], answer: str, golds: Sequence[str]) -> str:
    if not golds:
        return ""
    known, gave_up = states(" ".join(shown.values()), golds), is_refusal(answer)
    if known and gave_up:
        return f"Nothing was missing: the known facts state {golds[0]!r}."
    if not known and gave_up:
        return f"Rightly so: the known facts do not state {golds[0]!r}."
    if known:
        return _overlooked(" ".join(shown.values()), "The known facts", answer, golds)
    return f"The known facts do not state {golds[0]!r}: information was missing, and it was not asked for."


def _unfound(titles: set[str]) -> str:
    return f"No query found these passages, which are needed: {_list(titles)}." if titles else ""


def _dropped(titles: set[str]) -> str:
    return f"These passages are needed and were dropped: {_list(titles)}." if titles else ""


def _distracting(titles: set[str]) -> str:
    return f"These passages are not needed and were kept: {_list(titles)}." if titles else ""


def _overlooked(text: str, what: str, answer: str, golds: Sequence[str]) -> str:
    if is_right(answer, golds) or not states(text, golds):
        return ""
    return f"{what} did state it, but the answer was not taken from there."


def _unsupported(statement: str, cited: Sequence[str], question: str) -> str:
    if not cited:
        return f"The statement {statement!r} cites no passage that there is."
    if not follows(statement, cited, question):
        return f"The statement {statement!r} does not follow from the passages cited for it."
    return ""


def _numbers(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


def _list(titles: Iterable[str]) -> str:
    return "; ".join(sorted(titles))
