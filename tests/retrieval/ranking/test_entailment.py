"""Entailment: which label is read, against direct computations."""

from collections.abc import Callable

import pytest

from retrieval import UsageError
from retrieval.ranking.entailment import NLI, TRUE, LexicalEntailment, load_entailment

PAIRS = [
    ("The cat sat on the mat.", "A cat sat."),
    ("Paris.", "The tower is in Paris."),
    ("The Eiffel tower is in Paris. " * 4, "Rome?"),
]


BOESE_DIED = 'Carl Boese directed "My Cousin From Warsaw": when did this director die?'
BOESE = (
    "Carl Boese (26 August 1887 to 6 July 1958), a German, produced and wrote films and was a director. From 1917 to "
    "1957 he directed 158 of them."
)
GALLONE = (
    "Carmine Gallone (10 September 1885 to 4 April 1973), an Italian, wrote and produced films and was a director "
    "praised early on."
)
LEVITY = 'Of which nationality is Ed Solomon, who directed "Levity"?'
SOLOMON = "Ed Solomon The American filmmaker Edward James Solomon was born on September 15, 1960."


class TestLexical:
    @pytest.mark.parametrize(
        ("premise", "hypothesis", "expected"),
        [
            ("Gustave Eiffel designed the iron tower.", "Eiffel designs towers", 1.0),
            ("Gustave Eiffel designed the iron tower.", "Eiffel designed the bridge", 0.0),
            ("Eiffel designed the tower.", "Eiffel did not design the tower", 0.0),
            ("Eiffel designed the tower.", "It is.", 0.0),
            ("", "", 0.0),
        ],
    )
    def test_all_content_words_must_be_in_the_premise(self, premise: str, hypothesis: str, expected: float) -> None:
        assert LexicalEntailment().entails(premise, hypothesis) == expected

    @pytest.mark.parametrize(
        ("question", "premise", "hypothesis", "expected"),
        [
            pytest.param(BOESE_DIED, BOESE, "On July 6, 1958, Carl Boese died", 1.0, id="the question's word for it"),
            pytest.param(BOESE_DIED, BOESE, "On July 7, 1958, Carl Boese died", 0.0, id="another day"),
            pytest.param(BOESE_DIED, GALLONE, "On July 6, 1958, Carl Boese died", 0.0, id="about another man"),
            pytest.param(LEVITY, SOLOMON, "Ed Solomon, a filmmaker, is American", 1.0, id="all in the passage"),
            pytest.param(LEVITY, SOLOMON, "Ed Solomon, who directed Levity, is American", 1.0, id="taken for granted"),
            pytest.param(LEVITY, SOLOMON, "Ed Solomon, who directed Levity, is not American", 0.0, id="negated"),
            pytest.param(LEVITY, SOLOMON, "Levity was directed by Ed Solomon", 0.0, id="nothing new"),
            pytest.param(
                "By whom was Golmaal (2008 Film) directed?",
                "Swapan Saha The Indian Swapan Saha, born in Ajmer, Rajasthan, India, on 10 January 1930, has directed "
                "and produced Bengali films, and has written their stories and their music.",
                "Golmaal (2008 Film) was directed by Swapan Saha",
                0.0,
                id="made up (Table 13)",
            ),
            pytest.param("", BOESE, "On July 6, 1958, Carl Boese died", 0.0, id="no question"),
        ],
    )
    def test_what_answers_a_question_takes_words_over_from_it(
        self, question: str, premise: str, hypothesis: str, expected: float
    ) -> None:
        """What MIGRES's Tables 13 and 17 tell, in our own words, and what a leaf could make of it."""
        assert LexicalEntailment().batch_answering(question, [(premise, hypothesis)]) == [expected]
        assert LexicalEntailment().batch_answering(question, []) == []

    def test_a_batch_answers_in_order(self) -> None:
        assert LexicalEntailment().batch([("cat dog", "dog"), ("cat", "dog"), ("dog", "dogs")]) == [1.0, 0.0, 1.0]
        assert LexicalEntailment().batch([]) == []


class TestNLI:
    @pytest.mark.needs("transformers", "torch", "sentence_transformers")
    @pytest.mark.parametrize(
        "labels",
        [
            ["entailment", "neutral", "contradiction"],
            ["contradiction", "entailment", "neutral"],
            ["CONTRADICTION", "NEUTRAL", "ENTAILMENT"],
            ["not_entailment", "entailment"],
        ],
    )
    def test_the_label_named_entailment_is_read(self, tiny: Callable[..., str], labels: list[str]) -> None:
        import torch
        import transformers

        path = tiny(
            "classifier", id2label=dict(enumerate(labels)), label2id={label: n for n, label in enumerate(labels)}
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(path)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(path).eval()
        place = [label.lower() for label in labels].index("entailment")
        expected = []
        for premise, hypothesis in PAIRS:
            with torch.no_grad():
                logits = model(**tokenizer(premise, hypothesis, return_tensors="pt")).logits[0]
            expected.append(float(logits.softmax(-1)[place]))
        assert NLI(path, device="cpu").batch(PAIRS) == pytest.approx(expected, abs=1e-5)
        judge = NLI(path, batch_size=1, device="cpu")
        assert judge.batch(PAIRS) == pytest.approx(expected, abs=1e-5)
        assert judge.entails(*PAIRS[1]) == pytest.approx(expected[1], abs=1e-5)
        assert judge.batch([]) == []
        assert judge.batch_answering("Where?", PAIRS) == judge.batch(PAIRS)  # without the question
        assert judge.entails("cat \ud800", "\udfff") == pytest.approx(judge.entails("cat ?", "?"), abs=1e-5)

    @pytest.mark.needs("sentence_transformers")
    @pytest.mark.parametrize("labels", [["LABEL_0", "LABEL_1"], ["entailment"], ["no_entailment", "contradiction"]])
    def test_models_without_that_label_are_refused(self, tiny: Callable[..., str], labels: list[str]) -> None:
        path = tiny(
            "classifier", id2label=dict(enumerate(labels)), label2id={label: n for n, label in enumerate(labels)}
        )
        with pytest.raises(UsageError, match=f"has no label named entailment .*{labels[0]}"):
            NLI(path, device="cpu")


class TestTRUE:
    @pytest.mark.needs("transformers", "torch")
    def test_the_probability_is_that_of_writing_one(self, tiny: Callable[..., str]) -> None:
        import torch
        import transformers

        path = tiny("t5")
        tokenizer = transformers.AutoTokenizer.from_pretrained(path)
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(path).eval()
        (one,) = tokenizer("1", add_special_tokens=False).input_ids
        expected = []
        for premise, hypothesis in PAIRS:
            inputs = tokenizer(f"premise: {premise} hypothesis: {hypothesis}", return_tensors="pt")
            with torch.no_grad():
                logits = model(input_ids=inputs.input_ids, decoder_input_ids=torch.tensor([[0]])).logits
            expected.append(float(logits[0, 0].softmax(-1)[one]))
        assert max(expected) - min(expected) > 0.001  # the pair matters
        assert TRUE(path, device="cpu").batch(PAIRS) == pytest.approx(expected, abs=1e-5)
        assert TRUE(path, device="cpu").entails(*PAIRS[0]) == pytest.approx(expected[0], abs=1e-5)

    def test_long_premises_are_cut_off_and_the_hypothesis_is_not(self, tiny: Callable[..., str]) -> None:
        judge = TRUE(tiny("t5"), max_length=40, device="cpu")
        long = "The cat sat on the mat. " * 50
        first, second, third = judge.batch([(long, "Rome?"), (long + "Paris.", "Rome?"), (long, "Paris?")])
        assert first == pytest.approx(second, abs=1e-6)
        assert first != pytest.approx(third, abs=1e-6)


@pytest.mark.parametrize("spec", ["", "nli", "nli:", "true", "lexical:", "bert:x"])
def test_unknown_specs_are_refused(spec: str) -> None:
    with pytest.raises(UsageError, match="use lexical, nli:MODEL or true:MODEL"):
        load_entailment(spec)


@pytest.mark.needs("sentence_transformers")
def test_specs_open_judges(tiny: Callable[..., str]) -> None:
    assert isinstance(load_entailment("lexical"), LexicalEntailment)
    assert isinstance(load_entailment(f"true:{tiny('t5')}"), TRUE)
    with pytest.raises(UsageError, match="cannot load the model '/nowhere/at/all'"):
        load_entailment("nli:/nowhere/at/all")
