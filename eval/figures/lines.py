"""From a run to its line in the table of all methods: a pure function."""

from collections.abc import Mapping, Sequence
from math import fsum

from eval.figures.outcomes import breakdown, outcome, reason
from eval.figures.statistics import difference_interval, paired_test
from eval.figures.summary import Figures, Score, summarise
from eval.records.lines import Line, QuestionLine
from eval.records.record import Row
from eval.records.run import Run

__all__ = ["line_of", "name_of", "questions_of"]

_STANDINGS = {"extractive/reader": "floor", "oracle/perfect": "ceiling"}
_BY = {"_by_id": "ids", "": "titles"}  # ids first: titles can repeat


def line_of(run: Run | None, what: Line, direct: Mapping[str, float] | None = None) -> Line:
    """The run's line.

    Args:
        run: The run; None where there is none with figures.
        what: The line without figures: which run it is.
        direct: The scores of `direct` with the same LM, by question; None where there are none.
    """
    total = None if run is None else summarise(run.rows, run.manifest.asked, run.manifest).total
    if run is None or total is None or not total.scores:
        return what
    metric, score = next(iter(total.scores.items()))
    end = next((end for end in _BY if total.cost["searches"] and f"recall_passages{end}" in total.scores), None)
    found = None if end is None else total.scores[f"recall_passages{end}"]
    kept = None if end is None or _written(run.rows) else total.scores.get(f"recall_evidence{end}")
    figures = {
        "n": total.n,
        "failed": total.failed,
        "unparsable": total.unparsable,
        "metric": metric,
        **_entries("score", score),
        "gold": "" if end is None else _BY[end],
        "gold_n": 0 if found is None else found.n,
        **_entries("found", found),
        **_entries("kept", kept),
        "lm_calls": round(total.cost["lm_calls"], 2),
        "depth": round(total.cost["depth"], 2),
        "searches": round(total.cost["searches"], 2),
        "tokens_in": round(total.cost["input_tokens"]),
        "tokens_out": round(total.cost["output_tokens"]),
        **({} if what.lm in _STANDINGS.values() else _of_a_model(run, total, metric, direct)),
    }
    return Line.model_validate({**what.model_dump(), **figures})


def questions_of(run: Run, line: Line) -> list[QuestionLine]:
    """The questions of a run with a language model, for which `line_of` gave this line; none for floor and ceiling."""
    if line.lm in _STANDINGS.values() or not line.n:
        return []
    known = run.passages()
    return [
        QuestionLine(
            task=line.task,
            program=line.program,
            lm=line.lm,
            variant=line.variant,
            id=row.id,
            score=row.scores.get(line.metric) or 0.0,
            f1=row.scores.get("f1"),
            outcome=outcome(row, line.metric, reason(row, known)),
            lm_calls=row.cost.lm_calls,
            depth=row.cost.depth,
            tokens_in=row.cost.input_tokens,
            tokens_out=row.cost.output_tokens,
            seconds=round(row.cost.seconds, 1),
        )
        for row in run.rows
    ]


def _of_a_model(run: Run, total: Figures, metric: str, direct: Mapping[str, float] | None) -> dict[str, float]:
    """What is worth knowing of a language model beside its score."""
    known = run.passages()
    whys = [reason(row, known) for row in run.rows]
    lost = breakdown(run.rows, metric, whys)
    figures = {
        **_entries("f1", total.scores.get("f1")),
        "answered": sum(why not in ("failed", "unparsable", "refused") for why in whys),
        "not_found": lost["gold not found"],
        "dropped": lost["found but dropped"],
        "misread": lost["kept but misread"],
        "seconds": round(total.cost["seconds"], 1),
    }
    direct = direct or {}
    differences = [(row.scores.get(metric) or 0.0) - direct[row.id] for row in run.rows if row.id in direct]
    if not differences:
        return figures
    low, high = difference_interval(differences)
    ends = {"to_direct_low": low, "to_direct_high": high, "to_direct_p": paired_test(differences)}
    mean = fsum(differences) / len(differences)
    return {**figures, "to_direct": round(mean, 4), **{name: round(end, 4) for name, end in ends.items()}}


def name_of(lm: str) -> str:
    """An LM as the table names it: without the folder of a file, which is different everywhere."""
    return _STANDINGS.get(lm, lm.rpartition("/")[2].removesuffix(".gguf") if lm.endswith(".gguf") else lm)


def _written(rows: Sequence[Row]) -> bool:
    """Whether all that the answering calls were shown was written by the LM, without the passages that it is of."""
    shown = [passage.id for row in rows if row.prediction for passage in row.prediction.evidence or ()]
    kept = [row.scores.get(f"recall_evidence{end}") for row in rows for end in _BY]
    return bool(shown) and all(id_.startswith("lm:") for id_ in shown) and not any(kept)


def _entries(name: str, score: Score | None) -> dict[str, float]:
    if score is None:
        return {}
    return {name: round(score.mean, 4), f"{name}_low": round(score.low, 4), f"{name}_high": round(score.high, 4)}
