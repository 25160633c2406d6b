"""A run's figures as plain text."""

from collections.abc import Sequence

from eval.summary import Figures, Summary

__all__ = ["table"]

_RUN = ("task", "program", "lm", "retriever")  # what the first line says of the manifest
_HEADINGS = {
    "em": "EM",
    "f1": "F1",
    "recall_passages": "titles found",
    "recall_evidence": "titles kept",
    "recall_passages_by_id": "ids found",
    "recall_evidence_by_id": "ids kept",
}
_COSTS = {"lm_calls": "LM calls", "searches": "searches", "seconds": "seconds"}

_LEGEND = """\
Scores in percent, over all n questions, or the (m) that have a gold one; a failed question counts 0.
EM, F1: SQuAD v1.1, the best gold answer. Titles, ids: share of the gold ones found (retrieved) and kept (evidence).
Unparsable: questions with a reply that did not fit. LM calls, searches, seconds: per question."""


def table(summary: Summary) -> str:
    """The figures of all questions and of each type, a line each; ends without a line break."""
    metrics = list(summary.total.scores)
    lines = [["", "n", "failed", "unparsable", *(_HEADINGS.get(m, m) for m in metrics), *_COSTS.values()]]
    lines += [_line(name, figures, metrics) for name, figures in [("all", summary.total), *summary.by_type.items()]]
    run = ", ".join(f"{key} {summary.manifest[key]}" for key in _RUN if key in summary.manifest)
    parts = [run, "", _align(lines), "", _LEGEND]
    if not summary.complete:
        parts.append(f"INCOMPLETE: {summary.total.n} of {summary.questions} questions.")
    if summary.first_error is not None:
        parts.append(f"{summary.total.failed} failed, the first with {summary.first_error}")
    return "\n".join(parts)


def _line(name: str, figures: Figures, metrics: Sequence[str]) -> list[str]:
    costs = [f"{figures.cost[cost]:.2f}" for cost in _COSTS]
    scores = [_score(figures, metric) for metric in metrics]
    return [name, str(figures.n), str(figures.failed), str(figures.unparsable), *scores, *costs]


def _score(figures: Figures, metric: str) -> str:
    if metric not in figures.scores:
        return "-"
    score = figures.scores[metric]
    return f"{100 * score.mean:.1f}" + (f" ({score.n})" if score.n < figures.n else "")


def _align(lines: Sequence[Sequence[str]]) -> str:
    """Columns two spaces apart, the first flush left and the others flush right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(line[1:], widths[1:], strict=True))])
        for line in lines
    )
