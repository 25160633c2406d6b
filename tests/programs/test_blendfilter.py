"""BlendFilter against the paper's case study (Fig. 6), its switches, and replies that are no use."""

from collections.abc import Iterable
from typing import Any

import dspy
import pytest
from support.prompt_reading import inputs, wanted
from support.scripted import UNPARSABLE, Reply, scripted

from eval.tasks.demonstrations.fit import for_predictors
from programs.blendfilter import BlendFilter
from programs.instruments.cost import measured
from retrieval import Memory, Passage, UsageError
from signatures.answer import AnswerShort, AnswerYesNo
from signatures.select import NameTopic, SelectPassages, SelectPassagesOrNone
from signatures.write import WritePassage

# The case of Fig. 6: what it asks and searches, its titles in their order, what it shows of each passage, and its
# answer, told in our own words. The topic and the reasoning of filters and answer are ours, because it shows none.
SET_ASIDE = "Set aside whatever you know about television comedy."
QUESTION = "which recurring part on Workaholics was played by an actress of SuperMansion?"
TABLE = {
    "SuperMansion": "SuperMansion is a stop-motion series from America ... Crackle has shown it since October 8, 2015.",
    "Superman (1987 film)": "In this film Puneet Issar plays Superman.",
    "Joan Alexander": 'On the radio she was in "The Adventures of Superman" from 1940 to 1951.',
    "Superman and the Mole Men": "Lippert Pictures Inc. brought this film to the cinemas.",
    "Sarah Douglas": 'An English actress, born on 12 December 1932, who was in "Falcon Crest" (1983 to 1985).',
    "Atom Man vs. Superman": "In this serial of 1950 the reporters are after a story.",
    "Superman Returns": "This American film of 2006 shows what Superman and the world are to each other.",
    "Gillian Jacobs": 'Gillian MacLaren Jacobs, an American born on October 19, 1982, was in "Brother Nature" (2016).',
    "Jillian Bell": "The American Jillian Leigh Bell, born on April 25, 1984, acts in comedies and writes for the "
    'screen. On "Workaholics" she came back again and again as Jillian Belk ... "Fist Fight" (2017).',
    "Gillian Vigman": 'An American comic actress, born on January 28, 1972, with a part in "The Defenders".',
    "Gillian Jones": 'Since 2009 one has seen her in the drama "Packed to the Rafters".',
    "Jan Hooks": 'Janet Vivian Hooks, called "Jan", played in films and on television.',
}
# The figure shows no answer behind the reasoning of the draft, so the draft has none.
REASONING = "Bryan Cranston is in SuperMansion; on Workaholics he came back again and again as the boss."
RECALLED = "The part that the actress played on Workaholics again and again ..."
Q_EX = f"{REASONING} {QUESTION}"
Q_IN = f"{RECALLED} {QUESTION}"
FOUND = {
    QUESTION: ["SuperMansion", "Superman (1987 film)", "Joan Alexander", "Superman and the Mole Men", "Sarah Douglas"],
    Q_EX: [
        "SuperMansion",
        "Superman and the Mole Men",
        "Superman (1987 film)",
        "Atom Man vs. Superman",
        "Superman Returns",
    ],
    Q_IN: ["Gillian Jacobs", "Jillian Bell", "Gillian Vigman", "Gillian Jones", "Jan Hooks"],
}

DRAFT = Reply(AnswerShort, {"reasoning": REASONING, "answer": ""})
RECALL = Reply(WritePassage, {"passage": RECALLED})
TOPIC = Reply(NameTopic, {"topic": "television comedy"})
SELECT_Q = Reply(SelectPassages, {"reasoning": "The series.", "relevant": "[1]"}, when="Joan Alexander")
SELECT_EX = Reply(SelectPassages, {"reasoning": "The series.", "relevant": "[1]"}, when="Atom Man")
SELECT_IN = Reply(SelectPassages, {"reasoning": "The actress.", "relevant": "[2]"}, when="Gillian Jacobs")
ANSWER = Reply(AnswerShort, {"reasoning": "Jillian Bell is in both.", "answer": " Jillian Belk "}, when="Jillian Belk")
CASE = (DRAFT, RECALL, TOPIC, SELECT_Q, SELECT_EX, SELECT_IN, ANSWER)


def case_retriever(**more: list[str]) -> Memory:
    return Memory((Passage(title, text, title) for title, text in TABLE.items()), {**FOUND, **more})


def replies(*wanted: Reply) -> list[Reply]:
    """Copies, for a script uses its replies up."""
    return [Reply(r.to, r.fields, r.when, r.delay) for r in wanted]


def titles(passages: list[Passage]) -> list[str]:
    return [passage.title for passage in passages]


def numbered(found: list[str]) -> str:
    return "\n".join(f"[{n}] {title} | {TABLE[title]}" for n, title in enumerate(found, 1))


def in_order(asked: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    """What calls side by side were asked, in an order that does not depend on which came first."""
    return sorted(asked, key=lambda fields: sorted(fields.items()))


def test_the_case_of_figure_6() -> None:
    with scripted(*replies(*CASE)) as script, measured() as cost:
        seen = BlendFilter(case_retriever())(question=QUESTION)
    assert seen.queries == [QUESTION, Q_EX, Q_IN]
    assert seen.found == {"q": FOUND[QUESTION], "q_ex": FOUND[Q_EX], "q_in": FOUND[Q_IN]}
    assert seen.kept == {"q": ["SuperMansion"], "q_ex": ["SuperMansion"], "q_in": ["Jillian Bell"]}
    assert titles(seen.evidence) == ["SuperMansion", "Jillian Bell"]
    assert titles(seen.passages) == list(TABLE)
    assert (seen.answer, seen.topic, seen.unfiltered) == ("Jillian Belk", "television comedy", [])
    assert seen.reasoning == "Jillian Bell is in both."
    # The promise of the class docstring: 7 LM calls and 3 searches.
    assert (cost.lm_calls, cost.searches, cost.unparsable) == (7, 3, 0)
    # The draft reads the first passages; filters read the topic and the question, never the augmented query.
    filters = [{"context": numbered(found), "topic": SET_ASIDE} for found in FOUND.values()]
    asked = [{}, {}, {"context": numbered(FOUND[QUESTION])}, *filters]
    asked.append({"context": numbered(["SuperMansion", "Jillian Bell"])})
    assert in_order(inputs(user) for _, user in script.prompts) == in_order(
        {**each, "question": QUESTION} for each in asked
    )
    # Draft and answer are asked in the same words, which suit a draft that is searched with.
    draft, answer = [system for system, user in script.prompts if wanted(user) == ["reasoning", "answer"]]
    assert "sentences that name the people" in draft
    assert draft == answer


def test_an_empty_union_answers_from_the_question_alone() -> None:
    nothing = [Reply(SelectPassages, {"reasoning": "None.", "relevant": "[]"}, when=r.when) for r in CASE[3:6]]
    answer = Reply(AnswerShort, {"reasoning": "From memory.", "answer": "Jillian Belk"}, when="[[ ## context ## ]]\n\n")
    with scripted(*replies(DRAFT, RECALL, TOPIC), *nothing, answer) as script:
        seen = BlendFilter(case_retriever())(question=QUESTION)
    assert seen.evidence == []
    assert seen.kept == {"q": [], "q_ex": [], "q_in": []}
    assert seen.answer == "Jillian Belk"
    assert "SuperMansion |" not in script.prompts[-1][1]


def test_numbers_out_of_range_are_dropped() -> None:
    wild = Reply(SelectPassages, {"reasoning": "Some.", "relevant": "[0, 1, 6, -2, 1, 99]"}, when="Joan Alexander")
    with scripted(*replies(DRAFT, RECALL, TOPIC, SELECT_EX, SELECT_IN, ANSWER), wild):
        seen = BlendFilter(case_retriever())(question=QUESTION)
    assert seen.kept["q"] == ["SuperMansion"]
    assert seen.unfiltered == []


def test_an_unparsable_selection_keeps_its_list_whole_and_is_counted() -> None:
    garbled = [Reply(SelectPassages, "One of them, I should say.", when="Joan Alexander") for _ in range(2)]
    with scripted(*replies(DRAFT, RECALL, TOPIC, SELECT_EX, SELECT_IN, ANSWER), *garbled), measured() as cost:
        seen = BlendFilter(case_retriever())(question=QUESTION)
    assert seen.kept["q"] == FOUND[QUESTION]
    assert titles(seen.evidence) == [*FOUND[QUESTION], "Jillian Bell"]
    assert seen.unfiltered == ["q"]
    # DSPy asks once more, for JSON, before it gives up.
    assert (cost.unparsable, cost.lm_calls) == (1, 8)


def test_an_empty_selection_keeps_its_list_whole_and_is_counted() -> None:
    empty = [Reply(SelectPassages, {"reasoning": "The first.", "relevant": ""}, when="Joan Alexander") for _ in "ab"]
    with scripted(*replies(DRAFT, RECALL, TOPIC, SELECT_EX, SELECT_IN, ANSWER), *empty), measured() as cost:
        seen = BlendFilter(case_retriever())(question=QUESTION)
    assert (seen.kept["q"], seen.unfiltered, cost.unparsable) == (FOUND[QUESTION], ["q"], 1)


def test_what_the_lm_wrote_is_one_line_of_a_query_and_of_the_request() -> None:
    draft = Reply(AnswerShort, {"reasoning": f" {REASONING.replace(' ', chr(10), 1)}\n", "answer": ""})
    recalled = Reply(WritePassage, {"passage": f"{RECALLED[:8]}\n\n{RECALLED[8:]}\n"})
    topic = Reply(NameTopic, {"topic": " television\n  comedy. "})
    with scripted(draft, recalled, topic, *replies(*CASE[3:])) as script:
        seen = BlendFilter(case_retriever())(question=QUESTION)
    assert seen.queries == [QUESTION, Q_EX, Q_IN]
    asked = [inputs(user).get("topic") for _, user in script.prompts]
    assert sorted(filter(None, asked)) == [SET_ASIDE] * 3


def test_three_demonstrations_are_for_draft_and_answer_alone() -> None:
    for style, select in ("short", SelectPassages), ("yesno", SelectPassagesOrNone):
        known = {"question": QUESTION, "topic": "comedy", "passage": "A text.", "reasoning": "So.", "answer": "yes"}
        first = {**known, "context": "[1] A", "relevant": [1]}
        selection = {name: first[name] for name in (*select.input_fields, "reasoning", "relevant")}
        made = for_predictors(BlendFilter(case_retriever(), style=style), [[first, selection]] * 3, 3)
        assert {name for name, shown in made.items() if shown} == {"draft.predict", "answer.predict"}


def test_a_draft_that_concludes_as_the_demonstrations_do_has_its_answer_in_the_query_once() -> None:
    draft = Reply(AnswerShort, {"reasoning": "He came back. So the answer is Belk.", "answer": "Belk"})
    with scripted(draft, *replies(RECALL, ANSWER)):
        seen = BlendFilter(case_retriever(), filter="off")(question=QUESTION)
    assert seen.queries[1] == f"He came back. So the answer is Belk. {QUESTION}"


def test_unparsable_augmentations_leave_the_question_as_the_query() -> None:
    garbled = [Reply(to, UNPARSABLE) for to in (AnswerShort, WritePassage, NameTopic) for _ in range(2)]
    selects = [
        Reply(SelectPassages, {"reasoning": "", "relevant": "[1]"}, when="know about the topic of the question.")
        for _ in range(3)
    ]
    with scripted(*garbled, *selects, Reply(AnswerShort, "nothing"), Reply(AnswerShort, "")), measured() as cost:
        seen = BlendFilter(case_retriever())(question=QUESTION)
    assert seen.queries == [QUESTION] * 3
    assert (seen.answer, seen.reasoning, seen.topic) == ("", "", "")
    assert cost.unparsable == 4


def test_a_query_that_finds_nothing_is_not_filtered() -> None:
    answer = Reply(
        AnswerShort, {"reasoning": "A guess.", "answer": "a friend"}, when="[1] SuperMansion | SuperMansion is"
    )
    with scripted(*replies(DRAFT, RECALL, TOPIC, SELECT_Q, SELECT_EX), answer), measured() as cost:
        seen = BlendFilter(case_retriever(**{Q_IN: []}))(question=QUESTION)
    assert seen.kept["q_in"] == []
    assert seen.unfiltered == []
    assert cost.lm_calls == 6


class TestSwitches:
    def run(self, *script: Reply, question: str = QUESTION, **settings: Any) -> tuple[dspy.Prediction, Any]:
        with scripted(*replies(*script)), measured() as cost:
            seen = BlendFilter(case_retriever(), **settings)(question=question)
        return seen, cost

    def answer(self, when: str) -> Reply:
        return Reply(AnswerShort, {"reasoning": "So.", "answer": "Jillian Belk"}, when=when)

    def test_without_the_question_it_is_still_what_the_draft_reads(self) -> None:
        seen, cost = self.run(DRAFT, RECALL, TOPIC, SELECT_EX, SELECT_IN, ANSWER, original=False)
        assert seen.queries == [QUESTION, Q_EX, Q_IN]
        assert list(seen.kept) == ["q_ex", "q_in"]
        assert (cost.lm_calls, cost.searches) == (6, 3)

    def test_without_external_augmentation(self) -> None:
        seen, cost = self.run(RECALL, TOPIC, SELECT_Q, SELECT_IN, ANSWER, external=False)
        assert seen.queries == [QUESTION, Q_IN]
        assert list(seen.kept) == ["q", "q_in"]
        assert (cost.lm_calls, cost.searches) == (5, 2)

    def test_without_internal_augmentation(self) -> None:
        seen, cost = self.run(DRAFT, TOPIC, SELECT_Q, SELECT_EX, self.answer("[1] SuperMansion"), internal=False)
        assert seen.queries == [QUESTION, Q_EX]
        assert list(seen.kept) == ["q", "q_ex"]
        assert (cost.lm_calls, cost.searches) == (5, 2)

    def test_internal_augmentation_alone_never_searches_the_question(self) -> None:
        seen, cost = self.run(RECALL, TOPIC, SELECT_IN, ANSWER, original=False, external=False)
        assert seen.queries == [Q_IN]
        assert (cost.lm_calls, cost.searches) == (4, 1)

    def test_no_query_at_all_is_refused(self) -> None:
        with pytest.raises(UsageError, match="at least one"):
            BlendFilter(case_retriever(), original=False, external=False, internal=False)

    def test_without_filtering_everything_is_read(self) -> None:
        seen, cost = self.run(DRAFT, RECALL, ANSWER, filter="off")
        assert titles(seen.evidence) == list(TABLE)
        assert seen.kept == seen.found
        assert (seen.topic, seen.unfiltered) == (None, [])
        assert cost.lm_calls == 3

    def test_filtering_after_the_union(self) -> None:
        select = Reply(SelectPassages, {"reasoning": "Two.", "relevant": "[9, 1]"}, when="[12] Jan Hooks")
        seen, cost = self.run(DRAFT, RECALL, TOPIC, select, ANSWER, filter="union")
        assert seen.found == {"union": list(TABLE)}
        assert titles(seen.evidence) == ["SuperMansion", "Jillian Bell"]
        assert cost.lm_calls == 5

    def test_two_hops_draft_over_what_the_first_draft_found(self) -> None:
        second = Reply(AnswerShort, {"reasoning": "Jillian Bell is in it.", "answer": "Belk"}, when="Atom Man")
        third = f"Jillian Bell is in it. Belk {QUESTION}"
        found = ["Jillian Bell", "SuperMansion"]
        select = Reply(SelectPassages, {"reasoning": "Both.", "relevant": "[1, 2]"}, when="[1] Jillian Bell")
        with scripted(*replies(second, DRAFT, RECALL, TOPIC, SELECT_Q, select, SELECT_IN, ANSWER)):
            seen = BlendFilter(case_retriever(**{third: found}), hops=2)(question=QUESTION)
        assert seen.queries == [QUESTION, Q_EX, third, Q_IN]
        assert seen.found["q_ex"] == found
        assert "Atom Man vs. Superman" in titles(seen.passages)
        assert "Atom Man vs. Superman" not in titles(seen.evidence)

    def test_five_passages_per_query_are_asked_for_by_default(self) -> None:
        alone = {"external": False, "internal": False, "filter": "off"}
        with scripted(self.answer("[5] Gillian Jacobs")):
            seen = BlendFilter(case_retriever(**{QUESTION: list(TABLE)[3:]}), **alone)(question=QUESTION)
        assert seen.found == {"q": list(TABLE)[3:8]}

    @pytest.mark.parametrize(("said", "answer"), [("True", "yes"), ("no", "no"), ("false", "no"), ("Yes", "yes")])
    def test_yes_no_style_asks_for_no_topic_and_may_keep_nothing(self, said: str, answer: str) -> None:
        question = "Did Jillian Bell appear on Workaholics?"
        script = [
            Reply(AnswerYesNo, {"reasoning": "She is in it.", "answer": said}),
            RECALL,
            *(Reply(SelectPassagesOrNone, {"reasoning": "None.", "relevant": "[]"}) for _ in range(3)),
            Reply(AnswerYesNo, {"reasoning": "She is.", "answer": said}, when="[[ ## context ## ]]\n\n"),
        ]
        seen, cost = self.run(*script, question=question, style="yesno")
        assert seen.answer == answer
        assert seen.queries[1] == f"She is in it. {answer} {question}"
        assert seen.topic is None
        assert cost.lm_calls == 6
        # The paper's filter on these questions shows the question first.
        assert list(SelectPassagesOrNone.input_fields) == ["question", "context"]
