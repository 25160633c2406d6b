"""The runs of a directory over HTTP."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from support.races import a_race
from support.records import a_row
from support.runs_on_disk import add_rows, begin_run, end_run, make_run

from eval.choosing.record import write_race
from eval.reports.html.served import run_routes
from eval.runs.store import read
from retrieval import UsageError

pytestmark = pytest.mark.needs("uvicorn")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    make_run(folder / "first", 1, 1, 0, settings={"k": 3})
    make_run(folder / "set" / "second", 0, 1, 0, settings={"k": 5})
    add_rows(begin_run(folder / "going", 4, lm="extractive/reader"), 1)
    make_run(folder / "damaged", 1)
    (folder / "damaged" / "manifest.json").write_text("{}")
    return folder


@pytest.fixture
def client(runs: Path) -> Iterator[TestClient]:
    with TestClient(Starlette(routes=run_routes(runs))) as client:
        yield client


def test_all_runs_are_listed_with_how_far_they_are(client: TestClient, runs: Path) -> None:
    listed = {run["name"]: run for run in client.get("/v1/runs").json()["runs"]}
    assert set(listed) == {"first", "set/second", "going", "damaged"}
    first, going = listed["first"], listed["going"]
    assert (first["program"], first["task"], first["lm"], first["standing"]) == ("reader", "quiz", "made/up", "")
    assert (first["answered"], first["questions"], first["finished"]) == (3, 3, True)
    score = first["scores"]["em"]
    assert score["heading"] == "EM"
    assert score["mean"] == pytest.approx(2 / 3)
    assert score["low"] < 2 / 3 < score["high"]
    assert (going["answered"], going["questions"], going["finished"], going["scores"]) == (1, 4, False, {})
    assert going["standing"] == "floor"
    assert "another version" in listed["damaged"]["error"]

    make_run(runs / "set" / "third", 1)  # begun later
    assert "set/third" in [run["name"] for run in client.get("/v1/runs").json()["runs"]]


def test_one_run_has_its_figures_so_far(client: TestClient) -> None:
    going = client.get("/v1/runs/going").json()
    assert (going["answered"], going["questions"]) == (1, 4)
    assert going["scores"]["em"]["mean"] == 1
    second = client.get("/v1/runs/set/second").json()
    assert second["name"] == "set/second"
    assert second["entries"]["settings.k"] == "5"


def test_a_report_is_the_page_of_the_command_and_has_no_part_in_the_server(client: TestClient) -> None:
    for name in ("first", "set/second"):
        reply = client.get(f"/v1/runs/{name}/report")
        assert reply.status_code == 200
        assert '<meta name="generator" content="dspy-odqa">' in reply.text
        assert reply.headers["Content-Security-Policy"].startswith("sandbox")
        assert "allow-same-origin" not in reply.headers["Content-Security-Policy"]


def test_two_runs_are_compared(client: TestClient) -> None:
    names = {"a": "first", "b": "set/second"}
    compared = client.get("/v1/compare", params=names).json()
    assert compared["questions"] == 3
    (difference,) = compared["differences"]
    assert (difference["first"], difference["second"]) == ("first", "set/second")
    assert difference["mean"] == pytest.approx(1 / 3)
    assert compared["differing"] == [{"name": "settings.k", "values": ["3", "5"]}]
    assert "set/second" in client.get("/v1/compare", params={**names, "format": "html"}).text
    refused = client.get("/v1/compare", params={"a": "first", "b": "first"})
    assert (refused.status_code, refused.text) == (400, "one of the runs is named twice")
    assert client.get("/v1/compare", params={**names, "format": "pdf"}).status_code == 400


def test_the_leaderboard_is_grouped_by_questions(runs: Path, client: TestClient) -> None:
    make_run(runs / "elsewhere", 1, task="other", questions="others", settings={"k": 3})
    make_run(runs / "more", 1, 1, 1, 1, questions="more", settings={"k": 3})
    board = client.get("/v1/leaderboard").json()
    assert [(group["task"], group["questions"]) for group in board["groups"]] == [
        ("other", 1),
        ("quiz", 3),
        ("quiz", 4),
    ]
    assert board["metrics"] == {"em": "EM"}
    lines = {line["name"]: line for line in board["groups"][1]["lines"]}
    assert set(lines) == {"first", "set/second"}
    assert (lines["first"]["title"], lines["first"]["answered"], lines["first"]["finished"]) == ("reader", 3, True)
    assert (lines["first"]["apart"], lines["set/second"]["apart"]) == ("k 3", "k 5")
    assert lines["first"]["scores"]["em"]["mean"] == pytest.approx(2 / 3)
    assert "going" not in json.dumps(board)


def test_a_rescored_copy_is_no_line_of_its_own_and_gives_its_scores(runs: Path, client: TestClient) -> None:
    started = "2026-01-01T00:00:00+00:00"
    make_run(runs / "plain", 1, questions="q", program="cot", started=started)
    was = {"run": "plain", "metrics": ["em"], "started": read(runs / "plain").manifest.started}
    make_run(runs / "plain-rescored", 0, questions="q", program="cot", rescored=was)
    group = next(g for g in client.get("/v1/leaderboard").json()["groups"] if g["questions"] == 1)
    assert [(line["name"], line["scores"]["em"]["mean"]) for line in group["lines"]] == [("plain", 1.0)]


def test_runs_of_an_optimizer_are_named(runs: Path, client: TestClient) -> None:
    make_run(runs / "before", 1, questions="o", program="cot", recipe="mipro_v2")
    make_run(runs / "after", 1, questions="o", program="cot", recipe="mipro_v2", compiled="hash")
    group = next(g for g in client.get("/v1/leaderboard").json()["groups"] if g["questions"] == 1)
    assert [line["title"] for line in group["lines"]] == ["cot, compiled by mipro_v2", "cot, before mipro_v2"]


@pytest.mark.parametrize(
    "name", ["nobody", "..", "first/../../secret", "%2e%2e/secret", "%2Fetc", "first/manifest.json"]
)
def test_nothing_but_the_runs_can_be_read(client: TestClient, runs: Path, name: str) -> None:
    make_run(runs.parent / "secret", 1)
    for path in (f"/v1/runs/{name}", f"/v1/runs/{name}/report", f"/v1/compare?a=first&b={name}"):
        assert client.get(path).status_code == 404


def test_a_race_is_seen_with_its_candidates_and_their_runs_are_no_lines_of_their_own(
    client: TestClient, runs: Path
) -> None:
    make_run(runs / "race" / "runs" / "cot", 1, program="cot")
    write_race(runs / "race", a_race(state="racing"))
    (runs / "broken").mkdir()
    (runs / "broken" / "race.json").write_text("{}")
    broken, race = client.get("/v1/races").json()["races"]
    assert (broken["name"], race["name"], race["finished"], race["goal"]) == ("broken", "race", False, "EM")
    assert "race.json is damaged" in broken["error"]
    assert race["recommended"] == "cot has the best score."
    cot, _, ircot = race["candidates"]
    assert (cot["name"], cot["questions"], cot["prices"], cot["dropped"]) == ("cot", 20, {"tokens": "300"}, None)
    assert cot["score"] == {"mean": 0.6, "low": pytest.approx(0.4), "high": 0.8}
    assert ircot["dropped"] == "dropped after 20 questions: cot is better and costs no more (p = 0.030)"
    assert client.get("/v1/races/race").json()["order"][0] == "q0"
    assert "<h1>Methods for quiz.csv</h1>" in client.get("/v1/races/race/report").text
    for name in ("first", "..", "race/runs", "%2e%2e/secret"):
        assert client.get(f"/v1/races/{name}").status_code == 404

    assert "race/runs/cot" not in client.get("/v1/runs").text + client.get("/v1/leaderboard").text
    assert client.get("/v1/runs/race/runs/cot").json()["program"] == "cot"


def test_what_utf8_cannot_hold_does_not_hide_a_run(client: TestClient, runs: Path) -> None:
    for name in ("one", "other"):
        run = begin_run(runs / name, 2, settings={"style": f"{name} \ud800"})
        run.add(a_row("q0", scores={"em": 1.0}, error="it said \ud800"))
        end_run(run, 0)
    assert client.get("/v1/runs/one").json()["first_error"].startswith("it said ?")
    compared = client.get("/v1/compare", params={"a": "one", "b": "other"}).json()
    assert compared["runs"][0]["summary"]["first_error"].startswith("it said ?")


def test_a_directory_that_is_a_run_and_one_that_is_missing(tmp_path: Path, runs: Path) -> None:
    with TestClient(Starlette(routes=run_routes(runs / "first"))) as client:
        (run,) = client.get("/v1/runs").json()["runs"]
        assert client.get(f"/v1/runs/{run['name']}").json()["name"] == "first"
    with pytest.raises(UsageError, match="there is no folder"):
        run_routes(tmp_path / "none")
