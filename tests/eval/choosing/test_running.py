"""Races over the sample with the extractive reader: what is paid, what is not paid again, and what comes out."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import lms
from eval import Request, run
from eval.choosing.candidates import candidates_of
from eval.choosing.record import Race, read_race
from eval.choosing.running import Wanted, choose
from eval.runs.prepare import AllFailed
from odqa.limits import Limits
from optimizers.finalist import compiling
from programs.cot import CoT
from retrieval import UsageError

BASE = Request(task="sample", program="direct", lm="extractive", limit=16, metrics=("em",))
METHODS = ("direct", "cot", "iter_retgen")


def wanted(directory: Path, *methods: str, **given: Any) -> Wanted:
    candidates = candidates_of(BASE, methods=methods or METHODS)
    return Wanted(base=BASE, candidates=candidates, directory=directory, **{"block": 5, "prices": ("calls",), **given})


def paid(directory: Path) -> int:
    """The LM calls on record in the race's runs."""
    return sum(len(lines_of(file)) for file in directory.rglob("calls.jsonl"))


def lines_of(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def as_seen(race: Race) -> Any:
    """What a race decided."""
    scores = [[(s.candidate, s.score, s.p) for s in look.standings] for look in race.looks]
    return scores, race.drops, race.recommended, [(each.candidate, each.score) for each in race.measured]


def test_a_race_ends_with_a_front_and_figures_on_questions_kept_aside(tmp_path: Path) -> None:
    race = choose(wanted(tmp_path / "race"))
    assert (race.state, len(race.order), len(race.aside)) == ("finished", 12, 4)
    assert not {*race.order} & {*race.aside}
    assert [look.questions for look in race.looks] == [2, 7, 12]
    assert race.recommended is not None
    assert race.recommended.candidate in [point.candidate for point in race.front]
    assert {each.candidate for each in race.measured} == {race.recommended.candidate, "direct"}
    assert [each.questions for each in race.measured] == [4] * len(race.measured)
    assert race.told is not None
    assert race.told.said.startswith("With fewer than 30 questions it cannot be known")
    assert race.calls == paid(tmp_path / "race")
    assert read_race(tmp_path / "race") == race
    with pytest.raises(UsageError, match="holds another race, with different block; choose another directory"):
        choose(wanted(tmp_path / "race", block=4))


def test_what_candidates_ask_alike_is_paid_once(tmp_path: Path) -> None:
    turns = candidates_of(BASE, methods=["iter_retgen"], settings={"iter_retgen": {"turns": [1, 2]}})
    shared = replace(wanted(tmp_path / "shared", aside=0.0), candidates=turns)
    race = choose(shared)
    # The first of two turns is asked as the only one is: of three calls for a question two are paid.
    assert [look.calls for look in race.looks] == [2 * look.questions for look in race.looks]
    assert {standing.prices["calls"] for standing in race.looks[-1].standings} == {1, 2}
    one, two = sorted(race.looks[-1].standings, key=lambda standing: standing.prices["calls"] or 0)
    assert (
        one.prices["seconds"] is two.prices["seconds"] is None
    )  # nobody knows how long it would have waited for the shared reply
    # What is on record takes no time, so nothing is shared where seconds count.
    timed = choose(replace(shared, directory=tmp_path / "timed", prices=("seconds",)))
    assert [look.calls for look in timed.looks] == [3 * look.questions for look in timed.looks]
    assert all(standing.prices["seconds"] for standing in timed.looks[-1].standings)


def test_a_candidate_that_always_fails_leaves_and_its_error_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the flux is out")

    monkeypatch.setattr(CoT, "forward", fail)
    race = choose(wanted(tmp_path / "race"))
    (drop,) = [drop for drop in race.drops if drop.why == "failed"]
    assert (race.state, drop.candidate) == ("finished", "cot")
    assert drop.said == "None of its questions was answered (after 2 questions): RuntimeError: the flux is out"


class Killed(BaseException):
    pass


def test_a_race_that_was_killed_goes_on_and_pays_nothing_twice(tmp_path: Path) -> None:
    whole = choose(wanted(tmp_path / "whole"))

    def kill(race: Race) -> None:
        if len(race.looks) == 2:
            raise Killed

    with pytest.raises(Killed):
        choose(wanted(tmp_path / "killed", seen=kill))
    before = paid(tmp_path / "killed")
    assert 0 < before < paid(tmp_path / "whole")
    again = choose(wanted(tmp_path / "killed"))
    assert as_seen(again) == as_seen(whole)
    assert paid(tmp_path / "killed") == paid(tmp_path / "whole") == again.calls
    assert as_seen(choose(wanted(tmp_path / "killed"))) == as_seen(whole)
    assert paid(tmp_path / "killed") == again.calls


def test_what_a_run_has_paid_for_is_used(tmp_path: Path) -> None:
    first = choose(wanted(tmp_path / "first", "direct", "cot"))
    run(replace(BASE, limit=10), tmp_path / "runs" / "direct")
    used = choose(wanted(tmp_path / "used", "direct", "cot", paid=tmp_path / "runs"))
    assert as_seen(used) == as_seen(first)
    assert used.calls == first.calls - 10
    rows = [json.loads(line) for line in lines_of(tmp_path / "used/runs/direct/rows.jsonl")]
    assert sum(row["cost"]["cached_calls"] for row in rows) > 0
    timed = choose(wanted(tmp_path / "timed", "direct", "cot", paid=tmp_path / "runs", prices=("seconds",)))
    assert timed.looks[-1].calls == first.looks[-1].calls
    other = choose(wanted(tmp_path / "other", "direct", "cot", paid=tmp_path / "runs", seed=1))
    assert other.calls == first.calls - 10


@pytest.mark.parametrize("limit", [7, 20, 30])
def test_a_limit_of_calls_holds_exactly_and_the_race_goes_on_with_another(tmp_path: Path, limit: int) -> None:
    race = choose(wanted(tmp_path / "race", limits=Limits(calls=limit)))
    assert race.calls == paid(tmp_path / "race") <= limit
    if race.state == "stopped":
        assert re.search("limit", race.stopped or "")
    else:
        assert race.measured
    more = choose(wanted(tmp_path / "race"))
    assert more.state == "finished"
    assert more.calls == paid(tmp_path / "race")


def test_dollars_count_too(tmp_path: Path) -> None:
    race = choose(wanted(tmp_path / "race", limits=Limits(usd=1.0, minutes=10)))
    assert (race.state, race.usd) == ("finished", 0.0)


def test_minutes_stop_a_race(tmp_path: Path) -> None:
    race = choose(wanted(tmp_path / "race", limits=Limits(minutes=1e-9)))
    assert (race.state, race.stopped, race.calls) == ("stopped", "the limit of 1e-09 minutes is reached", 0)


def test_finalists_are_compiled_on_one_half_and_raced_on_the_other(tmp_path: Path) -> None:
    made = compiling("labeled_few_shot", lms.load("extractive"), 0)
    race = choose(wanted(tmp_path / "race", "direct", "cot", compile=made))
    compiled = [each for each in race.candidates if each.compiled_from]
    assert [(each.name, each.begins) for each in compiled] == [
        ("direct-labeled_few_shot", 6),
        ("cot-labeled_few_shot", 6),
    ]
    learned = json.loads(Path(compiled[0].state or "").read_text())["manifest"]["train"]
    assert learned == list(race.order[:6])
    rows = [json.loads(line)["id"] for line in lines_of(tmp_path / f"race/runs/{compiled[0].name}/rows.jsonl")]
    assert {*rows} == {*race.order[6:]}
    assert [standing.questions for standing in race.looks[-1].standings] == [6] * 4
    again = choose(wanted(tmp_path / "race", "direct", "cot", compile=made))
    assert (as_seen(again), again.calls) == (as_seen(race), race.calls)


def test_where_nothing_is_answered_it_is_said(tmp_path: Path) -> None:
    base = replace(BASE, lm="openai/none", lm_settings={"api_base": "http://127.0.0.1:9/v1", "num_retries": 0})
    base = replace(base, pace=replace(base.pace, retries=0))
    with pytest.raises(AllFailed, match="all questions that were asked failed, the first with"):
        choose(replace(wanted(tmp_path / "race"), base=base))


def test_too_few_questions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a race needs at least 2 questions beside those kept aside, and there are 1"):
        choose(replace(wanted(tmp_path / "race"), base=replace(BASE, limit=1)))
