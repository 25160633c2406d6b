"""The record of a race."""

from pathlib import Path

import pytest
from support.races import a_race

from eval.choosing.record import read_race, write_race
from retrieval import UsageError


def test_a_race_is_read_as_it_was_written(tmp_path: Path) -> None:
    race = a_race()
    write_race(tmp_path, race)
    assert read_race(tmp_path) == race
    assert race.candidate("ircot").program == "ircot"


def test_a_record_holds_no_secret_of_an_address(tmp_path: Path) -> None:
    race = a_race()
    secret = "colbertv2:http://me:password@127.0.0.1/search?token=hidden"
    first = race.candidates[0].model_copy(update={"retriever": secret})
    write_race(tmp_path, race.model_copy(update={"candidates": (first, *race.candidates[1:])}))
    assert read_race(tmp_path).candidates[0].retriever == "colbertv2:http://***@127.0.0.1/search?***"


def test_a_directory_without_a_race_and_a_damaged_one_are_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"holds no race: there is no .*race\.json"):
        read_race(tmp_path)
    (tmp_path / "race.json").write_text('{"state": "flying"}')
    with pytest.raises(UsageError, match=r"race\.json is damaged: "):
        read_race(tmp_path)
    write_race(tmp_path, a_race(format=2))
    with pytest.raises(UsageError, match="has the form of another version"):
        read_race(tmp_path)
