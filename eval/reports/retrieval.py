"""The figures of a retriever as plain text."""

from collections.abc import Mapping

from eval.figures.retrieval import RetrievalDifference, RetrievalFigures
from eval.figures.summary import Score
from eval.reports.formats import interval, p_value, percent, signed_percent
from eval.reports.text import align

__all__ = ["retrieval_table"]

_LABELS = {
    "recall": "recall, titles",
    "recall_by_id": "recall, ids",
    "answer_recall": "answer recall",
    "mrr": "MRR, titles",
    "mrr_by_id": "MRR, ids",
    "ndcg": "nDCG, titles",
    "ndcg_by_id": "nDCG, ids",
}
_LEGEND = """\
In percent over the n questions that have gold for the measure; the others are not counted. [ , ]: 95 % confidence
intervals over questions. Recall: share of the gold among the first k passages; titles are those of articles, ids those
of passages, which mean something only in the corpus that the questions were made for. Answer recall: an answer stands
in one of the first k passages; yes and no are not looked for."""
_DIFFERENCE_LEGEND = (
    "Difference: first less second, with its interval and p (two-sided, not corrected for their number) of one "
    "distribution: the interval leaves out 0 where p is below 0.05."
)


def retrieval_table(figures: RetrievalFigures) -> str:
    """The figures as plain text: a line per measure, a column per cut-off; ends without a line break."""
    parts = [f"{figures.questions} questions", "", _lines(figures.scores)]
    if figures.against is not None and figures.differences is not None:
        parts += ["", "against", _lines(figures.against), "", "difference", _lines(figures.differences)]
    parts += ["", _LEGEND]
    return "\n".join([*parts, _DIFFERENCE_LEGEND] if figures.differences else parts)


def _lines(figures: Mapping[str, Score | RetrievalDifference]) -> str:
    ks = list(dict.fromkeys(name.partition("@")[2] for name in figures))
    lines = [["", "n", *(f"@{k}" for k in ks)]]
    for kind in dict.fromkeys(name.partition("@")[0] for name in figures):
        cells = [_cell(figures[f"{kind}@{k}"]) for k in ks]
        lines.append([_LABELS[kind], str(figures[f"{kind}@{ks[0]}"].n), *cells])
    return align(lines)


def _cell(figure: Score | RetrievalDifference) -> str:
    if isinstance(figure, Score):
        return f"{percent(figure, figure.n)} {interval(figure.low, figure.high)}"
    return f"{signed_percent(figure.mean)} {interval(figure.low, figure.high, '+')} {p_value(figure.p)}"
