"""Citation recall and precision as ALCE defines them: do statements follow from the passages that they cite?
(Gao et al. 2023, eval.py)

A program reports its citations in `known_facts`, as MIGRES does: a list of {"fact": a statement, "passages": the ids of
the passages cited for it}. The passages are looked up in the other fields of the prediction, first in `passages`.

A statement is supported if its citations, taken together, entail it. A citation is precise if its statement is
supported and the citation is not superfluous; it is superfluous if it does not entail the statement alone and the
others do so without it. As in the script, the first three citations of a statement count. A statement that cites
something unknown is unsupported, and its citations do not count.

Two things differ from the script. A prediction without statements scores 0 instead of being left out. And statements
come whole, so that no text has to be split into sentences or freed of brackets.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dspy import Example, Prediction

from eval.metrics.protocol import Metric
from programs.steps.citations import Fact, check_citations
from retrieval import Passage

if TYPE_CHECKING:
    from retrieval.ranking.entailment import Entailment

__all__ = ["citation_precision", "citation_recall"]

_MOST = 3  # how many citations of a statement count: the script's default


class _Statement(NamedTuple):
    text: str
    cited: list[Passage]  # empty if one of the citations is unknown


def citation_recall(judge: "Entailment", *, name: str = "citation_recall") -> Metric:
    """The metric for the share of statements that are supported; None if no citations are reported."""

    def metric(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
        statements = _statements(prediction)
        if statements is None:
            return None
        return len(_supported(judge, statements)) / len(statements) if statements else 0.0

    metric.__name__ = name
    return metric


def citation_precision(judge: "Entailment", *, name: str = "citation_precision") -> Metric:
    """The metric for the share of citations that are precise; None if no citations are reported."""

    def metric(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
        statements = _statements(prediction)
        if statements is None:
            return None
        citations = sum(len(statement.cited) for statement in statements)
        return _precise(judge, _supported(judge, statements)) / citations if citations else 0.0

    metric.__name__ = name
    return metric


def _statements(prediction: Prediction) -> list[_Statement] | None:
    facts = prediction.get("known_facts")
    if not isinstance(facts, list):
        return None
    known: dict[str, Passage] = {}
    for passage in _passages(prediction):
        known.setdefault(passage.id, passage)
    return [
        _Statement(fact["fact"], [known[id_] for id_ in ids[:_MOST]] if all(id_ in known for id_ in ids) else [])
        for fact in facts
        for ids in [fact["passages"]]
    ]


def _passages(prediction: Prediction) -> Iterator[Passage]:
    for field in [prediction.get("passages"), *prediction.values()]:
        if isinstance(field, list):
            yield from (item for item in field if isinstance(item, Passage))


def _supported(judge: "Entailment", statements: Sequence[_Statement]) -> list[_Statement]:
    citing = [statement for statement in statements if statement.cited]
    entailed = _entailed(judge, [(statement.cited, statement.text) for statement in citing])
    return [statement for statement, yes in zip(citing, entailed, strict=True) if yes]


def _precise(judge: "Entailment", supported: Sequence[_Statement]) -> int:
    """How many of these statements' citations are precise."""
    single = [statement for statement in supported if len(statement.cited) == 1]
    cases = [(s, at) for s in supported if len(s.cited) > 1 for at in range(len(s.cited))]
    alone = _entailed(judge, [([s.cited[at]], s.text) for s, at in cases])
    doubtful = [case for case, yes in zip(cases, alone, strict=True) if not yes]
    without = _entailed(judge, [([*s.cited[:at], *s.cited[at + 1 :]], s.text) for s, at in doubtful])
    return len(single) + len(cases) - sum(without)


def _entailed(judge: "Entailment", cases: Sequence[tuple[Sequence[Passage], str]]) -> list[bool]:
    return check_citations([Fact(text, list(passages)) for passages, text in cases], judge)
