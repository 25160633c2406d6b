"""Judges a retriever by itself: each question is searched as it stands, and what is found is compared with the gold.

recall, mrr, ndcg    of the gold titles, and ..._by_id of the gold passages, by ir_measures
answer_recall        whether an answer stands in a passage, by the rule of `eval.metrics.dpr`

All are taken at cut-offs K, and named NAME@K. Of several passages with the same title the first counts, and the others
take up ranks like passages that are not relevant; so recall@K is that of `eval.metrics`. All gold is equally relevant.
A question has the measures that it has gold for; answers that are yes or no are none for answer_recall.

rows.jsonl       one row per question, in their order: id, passages found (id, title, score), scores by measure
against.jsonl    the same of the retriever that it is compared with
summary.json     the figures
"""

import importlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from math import fsum, inf
from pathlib import Path
from typing import Any

import dspy

from eval.figures.statistics import difference_interval, interval, paired_test
from eval.figures.summary import Score
from eval.metrics.dpr import has_answer
from eval.metrics.squad import golds_of
from eval.metrics.yesno import is_yes_no
from retrieval import Passage, Retriever, UsageError

__all__ = ["Difference", "Figures", "evaluate", "table"]

_BATCH = 64
_GOLD = {"": ("gold_titles", "title"), "_by_id": ("gold_passages", "id")}
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
    "Difference: first less second. p: the randomisation test for pairs, two-sided, not corrected for their number."
)


@dataclass(frozen=True, slots=True)
class Difference:
    """Of the means of a measure of two retrievers, over the same questions."""

    mean: float
    """The first's less the second's."""
    n: int
    low: float
    """Where the 95 % confidence interval begins; see `eval.figures.statistics.difference_interval`."""
    high: float
    """Where it ends."""
    p: float
    """See `eval.figures.statistics.paired_test`."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What the evaluation comes to; all are by the measures' names."""

    questions: int
    """How many were searched; a measure's n is how many have gold for it."""
    scores: dict[str, Score]
    against: dict[str, Score] | None
    """Of the second retriever, if there is one."""
    differences: dict[str, Difference] | None


def evaluate(
    retriever: Retriever,
    examples: Sequence[dspy.Example],
    *,
    directory: str | Path,
    ks: Sequence[int] = (5, 10, 20, 100),
    against: Retriever | None = None,
    manifest: dict[str, Any] | None = None,
    progress: Callable[[int], object] = lambda count: None,
) -> Figures:
    """Search every question, in batches, and write down what comes of it.

    Args:
        retriever: What to judge.
        examples: Questions with an `id`, and `answers`, `gold_titles` or `gold_passages`, as from `eval.tasks.load`.
        directory: Where the files go; new or empty.
        ks: The cut-offs; as many passages as the highest are searched for.
        against: Another retriever, which is judged by the same questions and compared.
        manifest: What this is, put into the summary; no secrets.
        progress: Called with the number of questions that have been searched since the last call; with `against` every
            question is searched twice.

    Raises:
        UsageError: there are no questions or none has gold, a cut-off is below 1, the directory cannot be used, or
            ir_measures is not installed.
        RetrievalError: a search failed.
    """
    judge = _Judge(ks)
    if not any(map(_has_gold, examples)):
        raise UsageError("no question has gold titles, gold passages or an answer that is not yes or no")
    out = Path(directory)
    try:
        out.mkdir(parents=True, exist_ok=True)
        used = any(out.iterdir())
    except OSError as error:
        raise UsageError(f"cannot use the directory {directory}: {error.strerror}") from error
    if used:
        raise UsageError(f"{directory} is not empty: choose an empty or a new directory")
    rows = _search(retriever, examples, judge, out / "rows.jsonl", progress)
    others = _search(against, examples, judge, out / "against.jsonl", progress) if against is not None else None
    figures = Figures(
        len(examples),
        _means(rows),
        _means(others) if others else None,
        {name: _difference(name, rows, others) for name in _names(rows)} if others else None,
    )
    summary = json.dumps({**(manifest or {}), **asdict(figures)}, indent=1, ensure_ascii=False)
    (out / "summary.json").write_text(summary, encoding="utf-8")
    return figures


def table(figures: Figures) -> str:
    """The figures as plain text: a line per measure, a column per cut-off; ends without a line break."""
    parts = [f"{figures.questions} questions", "", *_lines(figures.scores)]
    if figures.against is not None and figures.differences is not None:
        parts += ["", "against", *_lines(figures.against), "", "difference", *_lines(figures.differences)]
    parts += ["", _LEGEND]
    return "\n".join([*parts, _DIFFERENCE_LEGEND] if figures.differences else parts)


class _Judge:
    """Scores what was found for questions."""

    def __init__(self, ks: Sequence[int]) -> None:
        if not ks or min(ks) < 1:
            raise UsageError("a cut-off is a number of passages and must be at least 1")
        self.ks = sorted(set(ks))
        try:
            self._library: Any = importlib.import_module("ir_measures")
        except ModuleNotFoundError as error:
            raise UsageError(f"{error.name} is not installed, get it by: pip install 'dspy-odqa[eval]'") from error
        kinds = {"recall": self._library.R, "mrr": self._library.RR, "ndcg": self._library.nDCG}
        self._measures = {kind @ k: (name, k) for name, kind in kinds.items() for k in self.ks}

    def __call__(self, examples: Sequence[dspy.Example], found: Sequence[Sequence[Passage]]) -> list[dict[str, float]]:
        """The scores of each question by the measures' names."""
        scores: list[dict[str, float]] = [{} for _ in examples]
        for suffix, (field, key) in _GOLD.items():
            gold = [example.get(field) or [] for example in examples]
            keys = [[getattr(passage, key) for passage in passages] for passages in found]
            for question, name, k, score in self._judged(gold, keys):
                scores[question][f"{name}{suffix}@{k}"] = score
        for question, (example, passages) in enumerate(zip(examples, found, strict=True)):
            if _has_answer_gold(example):
                golds = golds_of(example)
                rank = next((rank for rank, p in enumerate(passages, 1) if has_answer(p.text, golds)), inf)
                scores[question] |= {f"answer_recall@{k}": float(rank <= k) for k in self.ks}
        return scores

    def _judged(
        self, gold: Sequence[Sequence[str]], keys: Sequence[Sequence[str]]
    ) -> Iterator[tuple[int, str, int, float]]:
        """Question, name, cut-off and score, of the questions with gold."""
        relevant, run = {}, {}
        for question, wanted in enumerate(gold):
            if wanted:
                names = {key: f"gold {n}" for n, key in enumerate(wanted)}
                relevant[str(question)] = dict.fromkeys(names.values(), 1)
                # The measures sort by score: ranks stand in for scores, which may tie. A key is gold the first time.
                run[str(question)] = {names.pop(key, f"other {rank}"): -rank for rank, key in enumerate(keys[question])}
        if run:
            for score in self._library.iter_calc(list(self._measures), relevant, run):
                yield int(score.query_id), *self._measures[score.measure], score.value


def _has_gold(example: dspy.Example) -> bool:
    return _has_answer_gold(example) or any(example.get(field) for field, _ in _GOLD.values())


def _has_answer_gold(example: dspy.Example) -> bool:
    return bool(golds_of(example)) and not is_yes_no(example)


def _search(
    retriever: Retriever,
    examples: Sequence[dspy.Example],
    judge: _Judge,
    file: Path,
    progress: Callable[[int], object],
) -> list[dict[str, float]]:
    """The scores of each question; a row of each is written to the file."""
    rows = []
    with file.open("w", encoding="utf-8") as lines:
        for begin in range(0, len(examples), _BATCH):
            batch = examples[begin : begin + _BATCH]
            found = retriever.batch([example.question for example in batch], judge.ks[-1])
            scores = judge(batch, found)
            for example, passages, scored in zip(batch, found, scores, strict=True):
                listed = [{"id": p.id, "title": p.title, "score": p.score} for p in passages]
                row = {"id": example.id, "passages": listed, "scores": scored}
                lines.write(json.dumps(row, ensure_ascii=False) + "\n")
            rows += scores
            progress(len(batch))
    return rows


def _names(rows: Sequence[dict[str, float]]) -> list[str]:
    """The measures that some question has, by kind and cut-off."""
    present = {name for row in rows for name in row}
    return sorted(present, key=lambda name: (list(_LABELS).index(_kind(name)), _cut_off(name)))


def _kind(name: str) -> str:
    return name.partition("@")[0]


def _cut_off(name: str) -> int:
    return int(name.partition("@")[2])


def _means(rows: Sequence[dict[str, float]]) -> dict[str, Score]:
    values = {name: [row[name] for row in rows if name in row] for name in _names(rows)}
    return {name: Score(fsum(of) / len(of), len(of), *interval(of)) for name, of in values.items()}


def _difference(name: str, rows: Sequence[dict[str, float]], others: Sequence[dict[str, float]]) -> Difference:
    differences = [row[name] - other[name] for row, other in zip(rows, others, strict=True) if name in row]
    mean = fsum(differences) / len(differences)
    return Difference(mean, len(differences), *difference_interval(differences), paired_test(differences))


def _lines(figures: dict[str, Score] | dict[str, Difference]) -> list[str]:
    ks = sorted({_cut_off(name) for name in figures})
    cells = {name: _cell(figure) for name, figure in figures.items()}
    width = max(map(len, cells.values()))
    lines = [f"{'':14}  {'n':>6}" + "".join(f"  {f'@{k}':>{width}}" for k in ks)]
    for kind in dict.fromkeys(map(_kind, figures)):
        n = figures[f"{kind}@{ks[0]}"].n
        lines.append(f"{_LABELS[kind]:14}  {n:6}" + "".join(f"  {cells[f'{kind}@{k}']:>{width}}" for k in ks))
    return lines


def _cell(figure: Score | Difference) -> str:
    if isinstance(figure, Score):
        return f"{100 * figure.mean:.1f} [{100 * figure.low:.1f}, {100 * figure.high:.1f}]"
    p = f"{figure.p:.3f}" if figure.p >= 0.001 else "<.001"
    return f"{100 * figure.mean:+.1f} [{100 * figure.low:+.1f}, {100 * figure.high:+.1f}] {p}"
