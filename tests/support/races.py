"""The record of a race, made without asking anything."""

from typing import Any

from eval.choosing.record import (
    Candidate,
    Drop,
    Look,
    Measured,
    Point,
    Price,
    Race,
    Recommendation,
    Standing,
    Told,
)

__all__ = ["a_race"]


def _prices(calls: float) -> dict[Price, float | None]:
    return {"usd": None, "tokens": 300 * calls, "calls": calls, "depth": calls, "seconds": calls / 2}


def _standing(name: str, questions: int, score: float, calls: float, p: float = 1.0) -> Standing:
    low, high = max(0.0, score - 0.2), min(1.0, score + 0.2)
    against = None if name == "direct" else "direct"
    return Standing(
        candidate=name,
        questions=questions,
        score=score,
        low=low,
        high=high,
        prices=_prices(calls),
        against=against,
        p=p,
    )


def a_race(**changed: Any) -> Race:
    """A finished race of three methods, one of which was dropped at the second look."""
    direct, cot, ircot = (Candidate(name=n, program=n, retriever="sample") for n in ("direct", "cot", "ircot"))
    looks = (
        Look(
            number=1,
            questions=10,
            standings=(
                _standing("cot", 10, 0.6, 1),
                _standing("direct", 10, 0.5, 1),
                _standing("ircot", 10, 0.3, 4, 0.2),
            ),
            calls=60,
            usd=None,
        ),
        Look(
            number=2,
            questions=20,
            standings=(
                _standing("cot", 20, 0.6, 1),
                _standing("direct", 20, 0.45, 1),
                _standing("ircot", 20, 0.2, 4, 0.03),
            ),
            calls=120,
            usd=None,
        ),
    )
    race = Race(
        started="2026-01-01T00:00:00+00:00",
        state="finished",
        task="quiz.csv",
        goal="em",
        prices=("tokens",),
        level=0.05,
        seed=0,
        block=10,
        order=tuple(f"q{n}" for n in range(20)),
        aside=("q20", "q21"),
        lm={"lm": "made/up", "temperature": 0.0},
        limits={"calls": 200},
        candidates=(direct, cot, ircot),
        looks=looks,
        drops=(
            Drop(candidate="ircot", look=2, why="worse", by="cot", said="cot is better and costs no more (p = 0.030)"),
        ),
        front=(Point(candidate="cot", score=0.6, low=0.4, high=0.8, prices=_prices(1), questions=20),),
        recommended=Recommendation(candidate="cot", said="cot has the best score."),
        measured=(
            Measured(candidate="cot", questions=2, score=0.5, low=0.1, high=0.9, prices=_prices(1)),
            Measured(candidate="direct", questions=2, score=0.5, low=0.1, high=0.9, prices=_prices(1)),
        ),
        told=Told(questions=20, difference=0.31, needed=770, said="20 questions show a difference of 31 points."),
        calls=124,
        usd=None,
        answerer="answerer.toml",
    )
    return race.model_copy(update=changed)
