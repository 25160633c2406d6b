import pytest
from support.races import a_race

from eval.choosing.record import Race
from eval.reports.race import entrants, race_table, state_of

BEGUN = {"looks": (), "drops": (), "front": (), "recommended": None, "measured": (), "told": None, "answerer": None}


def test_those_in_the_race_come_first_then_those_that_left_it_last() -> None:
    race = a_race()
    early = race.drops[0].model_copy(update={"candidate": "cot", "look": 1})
    assert [entrant.name for entrant in entrants(race)] == ["cot", "direct", "ircot"]
    assert [entrant.name for entrant in entrants(a_race(drops=(early, *race.drops)))] == ["direct", "ircot", "cot"]
    assert [entrant.number for entrant in entrants(race)] == [1, 0, 2]
    assert [entrant.standing for entrant in entrants(a_race(**BEGUN))] == [None] * 3


def test_the_text_has_how_the_candidates_stand_who_was_dropped_and_why_and_what_is_recommended() -> None:
    parts = race_table(a_race()).split("\n\n")
    assert parts[0] == "quiz.csv, EM: finished, 20 of 20 questions were raced, for 124 LM calls."
    assert parts[1] == "cot has the best score."
    head, cot, _, ircot = parts[2].splitlines()
    assert head.split("  ")[0] == "raced"
    assert "tokens  LM calls  calls in a row  seconds" in head  # first that by which the front is made
    assert "US dollars" not in head  # no price is known
    assert cot.split() == ["cot", "20", "60.0", "[40.0,", "80.0]", "300", "1.00", "1.00", "0.50"]
    assert ircot.split()[5] == "1,200"
    assert parts[3] == "ircot, dropped after 20 questions: cot is better and costs no more (p = 0.030)"
    assert [line.split()[:2] for line in parts[4].splitlines()] == [["kept", "aside"], ["cot", "2"], ["direct", "2"]]
    assert parts[5] == "20 questions show a difference of 31 points."
    assert "probability of at least 95 %" in parts[6]
    assert parts[7] == "written: answerer.toml, which odqa ask @answerer.toml 'QUESTION' asks"


def test_no_line_is_wider_than_asked_for() -> None:
    assert max(map(len, race_table(a_race(), 60).splitlines())) <= 60


@pytest.mark.parametrize(
    ("race", "said"),
    [
        (a_race(state="racing"), "under way, 20 of 20 questions were raced"),
        (a_race(state="racing", **BEGUN), "under way, 0 of 20 questions were raced"),
        (a_race(state="measuring"), "under way, 20 of 20 questions were raced, now measuring"),
        (a_race(state="stopped", stopped="200 LM calls"), "stopped, 20 of 20 questions were raced: 200 LM calls"),
    ],
    ids=["racing", "begun", "measuring", "stopped"],
)
def test_a_race_says_how_far_it_is(race: Race, said: str) -> None:
    assert state_of(race) == said
    assert race_table(race).startswith(f"quiz.csv, EM: {said}, for 124 LM calls.")


def test_dollars_are_said_where_they_are_known() -> None:
    assert ", for 124 LM calls and 0.25 US dollars." in race_table(a_race(usd=0.25))
