from programs.steps.result import report_rounds, result
from retrieval import Passage


def test_a_result_has_the_four_fields_and_the_methods_own() -> None:
    passage = Passage("1", "t")
    seen = result(answer="a", queries=["q"], passages=[passage], evidence=[], rounds=2)
    assert dict(seen.items()) == {"answer": "a", "queries": ["q"], "passages": [passage], "evidence": [], "rounds": 2}
    assert seen.copy().rounds == 2  # DSPy copies predictions


def test_an_answer_becomes_text() -> None:
    assert [result(answer=answer, queries=[], passages=[], evidence=[]).answer for answer in (True, None, " a ")] == [
        "yes",
        "",
        "a",
    ]


def test_a_round_shows_what_it_found_or_all_that_was_found_so_far() -> None:
    a, b, c = (Passage(id_, id_) for id_ in "abc")
    found = [[a, b], [c, a], []]
    lists = [["a", "b"], ["c", "a"], []]
    for growing, shown in ((False, lists), (True, [["a", "b"], ["a", "b", "c"], ["a", "b", "c"]])):
        rounds = report_rounds(found, growing=growing)
        assert [[turn["retrieved"], turn["kept"]] for turn in rounds] == [[ids, ids] for ids in lists]
        assert [turn["shown"] for turn in rounds] == shown
