"""Tiny random models, made on the fly: right in form, quick, and with values that can be computed another way."""

import re
from collections.abc import Callable
from typing import Any

import pytest

WORDS = re.findall(
    r"\S+",
    """
    passage ask one question that this answers premise hypothesis : . ? the a cat dog sat on mat in rome who where is
    built was tower eiffel paris 0 1 2 query quick brown fox jumps over lazy
    """,
)
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "<s>", "</s>"]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Make a model of a kind (`gpt2`, `llama`, `t5`, `bert`, `classifier`) and return its directory.

    Further arguments go to the model's configuration, except `seed`.
    """
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    made: dict[str, str] = {}

    def make(kind: str, *, seed: int = 0, **settings: Any) -> str:
        key = repr((kind, seed, sorted(settings.items())))
        if key not in made:
            torch.manual_seed(seed)
            model = _MODELS[kind](transformers, settings)
            for parameter in model.parameters():  # the usual initial values are so small that all outputs are alike
                torch.nn.init.normal_(parameter, std=1.0)
            path = tmp_path_factory.mktemp(kind)
            model.save_pretrained(path)
            _tokenizer(kind).save_pretrained(path)
            made[key] = str(path)
        return made[key]

    return make


def _gpt2(transformers: Any, settings: dict[str, Any]) -> Any:
    sizes = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64}
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(**_common(), **sizes | settings))


def _llama(transformers: Any, settings: dict[str, Any]) -> Any:
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**_common(), **sizes | settings))


def _t5(transformers: Any, settings: dict[str, Any]) -> Any:
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 2, "num_heads": 2, "decoder_start_token_id": 0}
    return transformers.T5ForConditionalGeneration(transformers.T5Config(**_common(), **sizes | settings))


def _bert_sizes(settings: dict[str, Any]) -> dict[str, Any]:
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    return _common() | sizes | {"max_position_embeddings": 64} | settings


def _bert(transformers: Any, settings: dict[str, Any]) -> Any:
    return transformers.BertModel(transformers.BertConfig(**_bert_sizes(settings)))


def _classifier(transformers: Any, settings: dict[str, Any]) -> Any:
    return transformers.BertForSequenceClassification(transformers.BertConfig(**_bert_sizes(settings)))


_MODELS = {"gpt2": _gpt2, "llama": _llama, "t5": _t5, "bert": _bert, "classifier": _classifier}


def _common() -> dict[str, Any]:
    return {"vocab_size": len(SPECIAL + WORDS), "pad_token_id": 0, "bos_token_id": 4, "eos_token_id": 5}


def _tokenizer(kind: str) -> Any:
    """A tokenizer over words, with the special tokens where models of the kind have them."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: n for n, word in enumerate(SPECIAL + WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, "[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    forms = {
        "llama": ("<s> $A", None),
        "t5": ("$A </s>", None),
        "bert": ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"),
        "classifier": ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"),
    }
    if kind in forms:
        single, pair = forms[kind]
        special = [(word, vocabulary[word]) for word in SPECIAL if word in single]
        tokenizer.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=special)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", bos_token="<s>", eos_token="</s>"
    )
