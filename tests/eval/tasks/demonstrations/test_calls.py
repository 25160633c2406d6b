import dspy
import pytest

from eval.tasks.demonstrations.calls import Call, labelled_calls
from retrieval import Memory, Passage

TABLE = Memory(
    [
        Passage("1", "Zorx is a planet found by Ada Quill .", "Zorx"),
        Passage("2", "Ada Quill was born in Lund .", "Ada Quill"),
        Passage("3", "Zorx is also a game about a planet .", "Zorx (game)"),
        Passage("4", "Where the planet was born nobody found out .", "Planets"),
    ]
)
QUESTION = "Where was who found the planet Zorx born ?"
STEPS = [
    {"question": "Who found Zorx?", "answer": "Ada Quill"},
    {"question": "Where was #1 born?", "answer": "Lund"},
]


def example(**fields: object) -> dspy.Example:
    known = {"id": "q", "question": QUESTION, "answer": "Lund", "answers": ["Lund"]}
    return dspy.Example(**{**known, **fields}).with_inputs("question")


def calls_with(fields: set[str], calls: list[Call]) -> list[Call]:
    return [call for call in calls if set(call) == fields]


def test_gold_passages_stand_among_distractors_and_are_named() -> None:
    made, extract, *_ = labelled_calls(example(gold_titles=["Zorx", "Ada Quill"], decomposition=STEPS), TABLE, k=4)
    lines = made["context"].splitlines()
    assert len(lines) == 4
    gold = {n: line for n, line in enumerate(lines, 1) if "| Zorx is a planet" in line or "| Ada" in line}
    assert made["passage"] == made["background"] == made["document"]
    assert made["passage"] == "Zorx is a planet found by Ada Quill . Ada Quill was born in Lund ."
    assert extract["context"] == made["context"]
    assert extract["statements"] == made["statements"]
    said = {one["passages"][0]: one["statement"] for one in extract["statements"]}
    assert said == {n: line.partition(" | ")[2] for n, line in gold.items()}
    calls = labelled_calls(example(gold_titles=["Zorx"]), TABLE)
    selections = [call for call in calls if "relevant" in call and "notes" not in call]
    assert [set(call) - {"topic"} for call in selections] == [{"context", "question", "reasoning", "relevant"}] * 2
    (number,) = selections[0]["relevant"]
    assert selections[0]["reasoning"] == (
        f"Passage {number} is relevant: Zorx is a planet found by Ada Quill . "
        "The others state nothing that the answer depends on."
    )
    assert [call.get("topic") for call in selections] == [
        None,
        "Set aside whatever you know about the topic of the question.",
    ]


@pytest.mark.parametrize(
    ("fields", "reasoning"),
    [
        ({"decomposition": STEPS}, "Who found Zorx? Ada Quill. Where was Ada Quill born? Lund."),
        (
            {"decomposition": [{"question": "Zorx >> finder", "answer": "Ada Quill"}, STEPS[1]]},
            "The finder of Zorx is Ada Quill. Where was Ada Quill born? Lund.",
        ),
        (
            {"evidences": [["Zorx", "finder", "Ada Quill"], ["Ada Quill", "place of birth", "Lund"]]},
            "The finder of Zorx is Ada Quill. The place of birth of Ada Quill is Lund.",
        ),
        (
            {"facts": ["Quill found it", "She is from Lund."], "decomposition": ["Who found it?", "Where is #1 from?"]},
            "Quill found it. She is from Lund.",
        ),
        (
            {"gold_sentences": [["Zorx", "It was found by Ada Quill."], ["Ada Quill", "She is from Lund."]]},
            "Zorx: It was found by Ada Quill. Ada Quill: She is from Lund.",
        ),
        (  # as on HotpotQA: a title that the sentence has, and one of two sentences
            {"gold_sentences": [["Zorx: A (novel)", "Zorx: A is long."], ["Zorx: A (novel)", "It is by Ada Quill."]]},
            "Zorx: A is long. It is by Ada Quill.",
        ),
        (
            {"gold_sentences": [["Orm, Lund", "Orm is a village near Lund."], ["Ada Quill", "Ada M. Quill is old."]]},
            "Orm is a village near Lund. Ada M. Quill is old.",
        ),
        (
            {"gold_sentences": [["Zorx", "It has rings."], ["Zorx", "It was found by Ada Quill."]]},
            "Zorx: It has rings. It was found by Ada Quill.",
        ),
    ],
)
def test_the_reasoning_is_what_the_data_says(fields: dict[str, object], reasoning: str) -> None:
    (closed_book,) = labelled_calls(example(**fields), None)
    assert closed_book["reasoning"] == f"{reasoning} So the answer is Lund."
    with_passages, *_ = labelled_calls(example(gold_titles=["Zorx", "Ada Quill"], **fields), TABLE)
    assert with_passages["reasoning"] == closed_book["reasoning"]


def test_where_the_data_says_nothing_the_gold_passages_do() -> None:
    made, *_ = labelled_calls(example(gold_titles=["Zorx", "Ada Quill"]), TABLE)
    assert made["reasoning"] == (
        "Zorx is a planet found by Ada Quill . Ada Quill was born in Lund . So the answer is Lund."
    )
    (nothing,) = labelled_calls(example(), None)
    assert "reasoning" not in nothing


def test_a_chain_of_thought_is_shown_sentence_by_sentence_the_second_call_being_its_end() -> None:
    calls = labelled_calls(example(gold_titles=["Ada Quill", "Zorx"], decomposition=STEPS), TABLE)
    first, end, second = calls_with({"context", "question", "history", "sentence"}, calls)
    facts = ["Zorx is a planet found by Ada Quill .", "Ada Quill was born in Lund ."]
    assert (first["history"], first["sentence"]) == ("", facts[0])  # a step that is a question is no sentence
    assert (second["history"], second["sentence"]) == (facts[0], facts[1])
    assert (end["history"], end["sentence"]) == ("\n".join(facts), "So the answer is Lund.")
    assert first["context"] == end["context"] == calls[0]["context"]
    told = example(gold_titles=["Ada Quill", "Zorx"], facts=["Quill found it", "She is from Lund."])
    calls = calls_with({"context", "question", "history", "sentence"}, labelled_calls(told, TABLE))
    assert [call["sentence"] for call in calls] == ["Quill found it.", "So the answer is Lund.", "She is from Lund."]


def test_the_strategy_is_the_label_of_the_example_or_what_the_number_of_gold_passages_tells() -> None:
    def strategies(*titles: str, **fields: str) -> list[str]:
        return [
            call["strategy"]
            for call in labelled_calls(example(gold_titles=[*titles], **fields), TABLE)
            if "strategy" in call
        ]

    assert strategies("Ada Quill") == ["single"]
    assert strategies("Ada Quill", "Zorx") == ["multiple"]
    assert strategies("Ada Quill", "Zorx", strategy="memory") == ["memory"]


def test_what_migres_should_make_of_enough_facts_and_of_too_few() -> None:
    calls = labelled_calls(example(gold_titles=["Ada Quill", "Zorx"]), TABLE)
    enough, too_few = calls_with({"question", "facts", "answer", "explanation", "missing"}, calls)
    assert enough["facts"] == "[1] Ada Quill was born in Lund .\n[2] Zorx is a planet found by Ada Quill ."
    assert (enough["answer"], enough["missing"]) == ("Lund", "")
    assert enough["explanation"] == "Ada Quill was born in Lund . Zorx is a planet found by Ada Quill ."
    assert too_few["facts"] == "[1] Zorx is a planet found by Ada Quill ."
    assert (too_few["answer"], too_few["missing"]) == ("unanswerable", "A fact about Ada Quill is missing.")
    (query,) = calls_with({"question", "history", "facts", "missing", "queries"}, calls)
    assert (query["history"], query["queries"], query["facts"]) == (QUESTION, ["Ada Quill"], too_few["facts"])


def test_the_query_for_what_is_missing_is_the_step_whose_answer_the_facts_lack() -> None:
    calls = labelled_calls(example(gold_titles=["Ada Quill", "Zorx"], decomposition=STEPS), TABLE)
    (query,) = calls_with({"question", "history", "facts", "missing", "queries"}, calls)
    assert query["missing"] == "Where was Ada Quill born?"
    assert query["queries"] == ["Where was Ada Quill born?"]


def test_the_sentence_that_matters_is_taken_and_named() -> None:
    long = Memory([Passage("1", "Ada Quill had a dog. She was born in Lund. She liked it there.", "Ada Quill")])
    (_, extract, *_) = labelled_calls(example(gold_titles=["Ada Quill"]), long)
    assert extract["statements"] == [{"statement": "Ada Quill: She was born in Lund.", "passages": [1]}]
    told = example(gold_titles=["Ada Quill"], gold_sentences=[["Ada Quill", "She liked it there."], ["Zorx", "No."]])
    (_, extract, *_) = labelled_calls(told, long)
    assert extract["statements"][0]["statement"] == "Ada Quill: She liked it there."


def test_what_leads_on_to_another_gold_passage_or_says_much_of_the_question_is_told_too() -> None:
    table = Memory(
        [
            Passage("1", "Ada Quill was born in Lund. She found Zorx when she was young. She sang.", "Ada Quill"),
            Passage(
                "2", "It is a planet. Its rings are famous. Its orbit was computed from old plates.", "Zorx (planet)"
            ),
        ]
    )
    asked = "Where was who found the planet whose orbit was computed from plates that were old born?"
    (_, extract, *_) = labelled_calls(example(question=asked, gold_titles=["Ada Quill", "Zorx (planet)"]), table)
    assert {one["statement"] for one in extract["statements"]} == {
        "Ada Quill was born in Lund. She found Zorx when she was young.",
        "Zorx (planet): It is a planet. Its orbit was computed from old plates.",
    }
    told = Memory([*table("Ada", 1), Passage("2", "Zorx was found by Ada Quill. It is a planet.", "Zorx (planet)")])
    (_, extract, *_) = labelled_calls(example(gold_titles=["Ada Quill", "Zorx (planet)"]), told)
    assert {one["statement"] for one in extract["statements"]} == {
        "Ada Quill was born in Lund.",  # Zorx's passage tells of her
        "Zorx was found by Ada Quill.",
    }


def test_where_the_facts_without_one_still_state_the_answer_nothing_is_missing() -> None:
    twice = Memory([Passage("1", "Born in Lund .", "Ada Quill"), Passage("2", "Lund was her birthplace .", "Lund")])
    calls = labelled_calls(example(gold_titles=["Ada Quill", "Lund"]), twice)
    assert [call["answer"] for call in calls if "facts" in call and "answer" in call] == ["Lund"]


def test_facts_that_do_not_state_the_answer_are_no_known_facts() -> None:
    assert not [call for call in labelled_calls(example(gold_titles=["Zorx"]), TABLE) if "facts" in call]


def test_without_gold_titles_the_first_passage_that_states_the_answer_is_the_gold_one() -> None:
    nq = example(question="where was ada quill born")
    made, extract, *others = labelled_calls(nq, TABLE)
    assert made["passage"] == "Ada Quill was born in Lund ."
    assert [one["statement"] for one in extract["statements"]] == ["Ada Quill was born in Lund ."]
    answers = [call["answer"] for call in others if "missing" in call and "answer" in call]
    assert answers == ["Lund", "unanswerable"]
    assert [call["queries"] for call in others if "queries" in call] == [["Ada Quill"]]
    assert len(labelled_calls(example(question="who", answer="Bo", answers=["Bo"]), TABLE)) == 1


def test_the_facts_of_strategyqa_are_passages_and_answer_its_steps() -> None:
    facts = ["One gallon of seawater weighs over 8 pounds.", "A six year old weighs 45 pounds."]
    asked = ["How heavy is a six year old?", "How heavy is a gallon of seawater?", "Is ten times #2 more than #1?"]
    child = example(question="Could seawater crush a child?", answer="yes", answers=["yes"], facts=facts)
    calls = labelled_calls(dspy.Example(**{**child.toDict(), "decomposition": asked}), TABLE, k=3)
    first = calls[0]
    assert sorted(one["statement"] for one in first["statements"]) == sorted(facts)
    assert all(
        first["context"].splitlines()[one["passages"][0] - 1].endswith(one["statement"]) for one in first["statements"]
    )
    assert first["reasoning"] == f"{' '.join(facts)} So the answer is yes."
    enough, too_few = calls_with({"question", "facts", "answer", "explanation", "missing"}, calls)
    assert (enough["answer"], too_few["answer"]) == ("yes", "unanswerable")
    assert too_few["facts"] == "[1] One gallon of seawater weighs over 8 pounds."
    assert too_few["missing"] == "How heavy is a six year old?"
    (query,) = calls_with({"question", "history", "facts", "missing", "queries"}, calls)
    assert query["queries"] == ["How heavy is a six year old?"]
    turns = calls_with({"question", "steps", "thought", "action", "query", "answer"}, calls)
    assert [turn["query"] for turn in turns] == [asked[0], "", asked[1]]
    one_more = dspy.Example({**child.toDict(), "decomposition": asked, "facts": [*facts, "Children are small."]})
    calls = labelled_calls(one_more, TABLE, k=3)
    assert [call["missing"] for call in calls if "queries" in call] == ["How heavy is a six year old?"]
    assert not [call for call in calls if "action" in call or "needed" in call]  # no step leads to the third fact


def test_a_fact_that_could_answer_another_sub_question_as_well_answers_none() -> None:
    facts = ["New England is located in the United States.", "The ocean parts the U.K and New England."]
    asked = ["What country is Sainsbury located on?", "What country is New England in?"]
    drive = example(question="Could you drive there?", answer="no", answers=["no"], facts=facts, decomposition=asked)
    assert not [call for call in labelled_calls(drive, TABLE) if "queries" in call or "needed" in call]


def test_a_text_from_memory_is_short() -> None:
    long = Memory([Passage("1", "She is Ada. She sang. She ran. Then she was born in Lund. She ate.", "Ada Quill")])
    made, *_ = labelled_calls(example(gold_titles=["Ada Quill"]), long)
    assert made["passage"] == "She is Ada. She sang. Then she was born in Lund."


def test_what_the_gold_does_not_give_is_left_out() -> None:
    for bare in (example(gold_titles=["Zorx", "Nowhere"]), example(answer="yes", answers=["yes"])):
        assert labelled_calls(bare, TABLE) == [dict(bare.items())]
    bare = example(gold_titles=["Zorx"])
    assert labelled_calls(bare, None) == [dict(bare.items())]
    six = example(facts=[f"Fact {n}." for n in range(6)])
    assert len(labelled_calls(six, TABLE)) == 1  # more than fit into one context
    questions_only = labelled_calls(example(gold_titles=["Zorx"], decomposition=["Who found Zorx?"]), TABLE)
    assert {call["follow_up"] for call in questions_only if "follow_up" in call} == {"What is known about Zorx?", ""}
