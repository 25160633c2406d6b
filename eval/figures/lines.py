"""From a run to its line in the table of all methods: a pure function."""

from collections.abc import Sequence

from eval.figures.summary import Score, summarise
from eval.runs.lines import Line
from eval.runs.record import Row
from eval.runs.store import Run

__all__ = ["line_of", "name_of"]

_STANDINGS = {"extractive/reader": "floor", "oracle/perfect": "ceiling"}
_BY = {"_by_id": "ids", "": "titles"}  # ids first: titles can repeat


def line_of(run: Run | None, what: Line) -> Line:
    """The run's line.

    Args:
        run: The run; None where there is none with figures.
        what: The line without figures: which run it is.
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
    }
    return Line.model_validate({**what.model_dump(), **figures})


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
