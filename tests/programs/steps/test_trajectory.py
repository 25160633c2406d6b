from programs.steps.trajectory import turn
from retrieval import Passage


def test_a_turn_is_a_thought_a_search_and_what_it_found() -> None:
    assert turn(2, "Where is it?", "Lund", [Passage("1", "It is in Sweden.", "Lund")]) == [
        "Thought 2: Where is it?",
        "Action 2: search for Lund",
        "Observation 2:\n[1] Lund | It is in Sweden.",
    ]
    assert turn(1, "?", "x", [])[-1] == "Observation 1:\nnothing was found"
