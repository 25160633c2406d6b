"""Scorers against direct computations."""

import gc
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from retrieval import UsageError
from retrieval.ranking.scorers import CrossEncoder, Lexical, QuestionLikelihood, load_scorer

TEXTS = ["The cat sat on the mat.", "Paris.", "The Eiffel tower is in Paris. It was built in Paris. A dog sat in Rome."]


class TestLexical:
    def test_the_share_of_content_words_is_stretched_to_twelve(self) -> None:
        query = "Who designed the iron tower in Paris?"  # design, iron, tower, pari
        texts = ["Nothing.", "A tower.", "The Paris towers", "An iron tower of Paris", "designs: tower, iron, Paris"]
        assert Lexical().score(query, texts) == [-6.0, -3.0, 0.0, 3.0, 6.0]

    def test_a_query_without_content_words_prefers_nothing(self) -> None:
        assert Lexical().score("Who is it?", ["a", "b"]) == [0.0, 0.0]
        assert Lexical().score("", ["a"]) == [0.0]
        assert Lexical().score("tower", []) == []


class TestCrossEncoder:
    @pytest.mark.needs("transformers", "torch", "sentence_transformers")
    def test_scores_are_the_models_logits(self, tiny: Callable[..., str]) -> None:
        import torch
        import transformers

        path = tiny("classifier", num_labels=1)
        tokenizer = transformers.AutoTokenizer.from_pretrained(path)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(path).eval()
        with torch.no_grad():
            expected = [float(model(**tokenizer("Where is it?", text, return_tensors="pt")).logits) for text in TEXTS]
        scorer = CrossEncoder(path, device="cpu")
        assert scorer.score("Where is it?", TEXTS) == pytest.approx(expected, abs=1e-5)
        assert CrossEncoder(path, batch_size=1, device="cpu").score("Where is it?", TEXTS) == pytest.approx(
            expected, abs=1e-5
        )
        assert scorer.score("Where?", []) == []
        assert len(scorer.score("Where?", ["cat " * 1000])) == 1

    @pytest.mark.needs("sentence_transformers")
    def test_threads_do_not_disturb_each_other(self, tiny: Callable[..., str]) -> None:
        scorer = CrossEncoder(tiny("classifier", num_labels=1), device="cpu")
        expected = {text: scorer.score("cat", [text])[0] for text in TEXTS}
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda text: scorer.score("cat", [text])[0], TEXTS * 10))
        assert found == pytest.approx([expected[text] for text in TEXTS * 10], abs=1e-6)

    @pytest.mark.needs("sentence_transformers")
    def test_lone_surrogates_are_no_trouble(self, tiny: Callable[..., str]) -> None:
        for scorer in CrossEncoder(tiny("classifier", num_labels=1), device="cpu"), QuestionLikelihood(tiny("gpt2")):
            assert scorer.score("cat \ud800", ["dog \udfff"]) == pytest.approx(scorer.score("cat ?", ["dog ?"]))

    @pytest.mark.needs("sentence_transformers")
    def test_models_that_do_not_fit_are_refused(self, tiny: Callable[..., str]) -> None:
        with pytest.raises(UsageError, match="has 3 labels; a reranker has one"):
            CrossEncoder(tiny("classifier", num_labels=3), device="cpu")
        with pytest.raises(UsageError, match="cannot load the model '/nowhere/at/all'") as error:
            CrossEncoder("/nowhere/at/all")
        assert "\n" not in str(error.value)


def by_hand(path: str, prompt: Sequence[int], goal: Sequence[int], start: Sequence[int]) -> list[float]:
    """Log-probabilities of the goal, one forward pass per token, nothing padded or batched."""
    import torch
    import transformers

    seq2seq = transformers.AutoConfig.from_pretrained(path).is_encoder_decoder
    kind = transformers.AutoModelForSeq2SeqLM if seq2seq else transformers.AutoModelForCausalLM
    model = kind.from_pretrained(path).eval()
    values, done = [], list(start)
    for token in goal:
        with torch.no_grad():
            if seq2seq:
                output = model(input_ids=torch.tensor([prompt]), decoder_input_ids=torch.tensor([done]))
            else:
                output = model(input_ids=torch.tensor([[*prompt, *done]]))
        values.append(float(torch.log_softmax(output.logits[0, -1].double(), -1)[token]))
        done.append(token)
    return values


class TestQuestionLikelihood:
    query = "Where is the tower?"
    before, after = "Passage:\n", "\n\nAsk one question that this passage answers.\nQuestion:\n"

    @pytest.mark.needs("transformers")
    @pytest.mark.parametrize(
        ("kind", "first", "last", "start"), [("gpt2", [], [], []), ("llama", [4], [], []), ("t5", [], [5], [0])]
    )
    def test_the_score_is_the_mean_log_probability_of_the_questions_tokens(
        self, tiny: Callable[..., str], kind: str, first: list[int], last: list[int], start: list[int]
    ) -> None:
        import transformers

        path = tiny(kind)
        tokenizer = transformers.AutoTokenizer.from_pretrained(path)
        goal = tokenizer(self.query, add_special_tokens=False).input_ids
        expected = []
        for text in TEXTS:
            prompt = tokenizer(self.before + text + self.after, add_special_tokens=False).input_ids
            values = by_hand(path, [*first, *prompt, *last], goal, start)
            expected.append(sum(values) / len(values))
        assert max(expected) - min(expected) > 0.01  # the text matters
        for batch_size in 1, 2, 8:
            found = QuestionLikelihood(path, batch_size=batch_size, device="cpu").score(self.query, TEXTS)
            assert found == pytest.approx(expected, abs=1e-5)

    @pytest.mark.parametrize("kind", ["gpt2", "t5"])
    def test_long_passages_are_cut_off_and_the_question_is_not(self, tiny: Callable[..., str], kind: str) -> None:
        scorer = QuestionLikelihood(tiny(kind), max_length=64, device="cpu")
        cat, dog = "cat " * 500, "dog " * 500
        first, second, third = scorer.score(self.query, [cat, cat + dog, dog])
        assert first == pytest.approx(second, abs=1e-6)
        assert first != pytest.approx(third, abs=1e-6)

    def test_blank_questions_and_no_texts(self, tiny: Callable[..., str]) -> None:
        scorer = QuestionLikelihood(tiny("gpt2"), device="cpu")
        assert scorer.score(" ", TEXTS) == scorer.score("", TEXTS) == [0.0] * 3
        assert scorer.score("cat", []) == []


@pytest.mark.parametrize("spec", ["", "bge", "upr", "upr:", "cross-encoder", "lexical:", "lexical:x"])
def test_unknown_specs_are_refused(spec: str) -> None:
    with pytest.raises(UsageError, match="use lexical, cross-encoder:MODEL or upr:MODEL"):
        load_scorer(spec)


@pytest.mark.needs("sentence_transformers")
def test_specs_open_scorers(tiny: Callable[..., str]) -> None:
    assert isinstance(load_scorer("lexical"), Lexical)
    assert isinstance(load_scorer(f"cross-encoder:{tiny('classifier', num_labels=1)}"), CrossEncoder)
    assert isinstance(load_scorer(f"upr:{tiny('gpt2')}"), QuestionLikelihood)


def test_a_model_is_loaded_once_while_anybody_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = []

    class Model(Lexical):
        def __init__(self, model: str) -> None:
            loaded.append(model)

    monkeypatch.setattr("retrieval.ranking.scorers.CrossEncoder", Model)
    first = load_scorer("cross-encoder:one")
    assert load_scorer("cross-encoder:one") is first
    assert load_scorer("cross-encoder:other") is not first
    del first
    gc.collect()
    load_scorer("cross-encoder:one")
    assert loaded == ["one", "other", "one"]


def test_without_the_extra_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "sentence_transformers", "transformers", "torch":
        monkeypatch.setitem(sys.modules, name, None)
    for spec in "cross-encoder:x", "upr:x":
        with pytest.raises(UsageError, match=r"pip install 'dspy-odqa\[dense\]'"):
            load_scorer(spec)
