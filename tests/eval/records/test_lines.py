from pathlib import Path
from typing import Any

from eval.records.lines import Line, merged, read_lines, write_lines


def line(**fields: Any) -> Line:
    usual = {"task": "nq", "program": "direct", "lm": "floor", "retriever": "bm25:nq", "asked": 9, "n": 9, "failed": 0}
    costs = dict.fromkeys(("unparsable", "lm_calls", "depth", "searches", "tokens_in", "tokens_out"), 1)
    scores = {"metric": "em", "score": 0.5, "score_low": 0.25, "score_high": 0.75}
    return Line.model_validate({**usual, **costs, **scores, **fields})


def test_lines_are_read_as_they_were_written(tmp_path: Path) -> None:
    lines = [line(), line(lm='a, "b"', gold="ids", found=0.0, found_low=0.0, found_high=0.3, settings="k 3, style x")]
    assert read_lines(tmp_path / "table.csv", Line) == []
    write_lines(tmp_path / "table.csv", lines, Line)
    assert read_lines(tmp_path / "table.csv", Line) == lines


def test_new_lines_take_the_place_of_old_ones_and_have_one_order() -> None:
    old = [line(), line(task="hotpotqa", lm="x"), line(task="hotpotqa", lm="x", variant="k 3")]
    new = [line(task="hotpotqa", lm="ceiling"), line(score=1.0), line(program="cot", lm="floor")]
    made = merged(old, new)
    assert [(each.task, each.program, each.lm, each.variant, each.score) for each in made] == [
        ("nq", "cot", "floor", "", 0.5),
        ("nq", "direct", "floor", "", 1.0),
        ("hotpotqa", "direct", "ceiling", "", 0.5),
        ("hotpotqa", "direct", "x", "", 0.5),
        ("hotpotqa", "direct", "x", "k 3", 0.5),
    ]
    assert merged(made, made) == made
    planned = [line(n=0, score=0.0), line(n=0, score=0.0, task="popqa")]  # yet to be made
    assert merged(made, planned) == [*made, planned[1]]
