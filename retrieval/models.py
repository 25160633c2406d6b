"""The packages of the extra `dense` and models from the hub, for dense retrieval and for ranking."""

import functools
import importlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from odqa.errors import OdqaError, UsageError
from odqa.extras import needing

__all__ = [
    "Classifier",
    "LanguageModel",
    "import_package",
    "in_one_line",
    "loading",
    "open_named",
    "refuse_code",
    "same_vectors",
    "shared",
    "without_surrogates",
]


_Loaded = TypeVar("_Loaded")
_ROUTERS = "router_config.json", "config.json"  # where sentence-transformers finds the modules of a router


def import_package(name: str) -> Any:
    """Import a package of the extra `dense`.

    Raises:
        UsageError: it is not installed.
    """
    with needing("dense"):
        return importlib.import_module(name)


@contextmanager
def loading(model: str) -> Iterator[None]:
    """While a model is loaded, turn the libraries' errors into one line.

    Raises:
        UsageError: there is no such model, it cannot be fetched, or it is of another kind.
    """
    hint = "which must be the directory of a model or its name on the Hugging Face hub"
    with in_one_line(f"cannot load the model {model!r}, {hint}"):
        yield


@contextmanager
def in_one_line(what: str) -> Iterator[None]:
    """Turn the errors of libraries into one line that begins with what cannot be done.

    Raises:
        UsageError: a library failed.
    """
    try:
        yield
    except OdqaError:
        raise
    except Exception as error:  # of whatever kind: the libraries do not check what they read
        reason = str(error).strip().partition("\n")[0][:200] or type(error).__name__
        raise UsageError(f"{what}: {reason}") from error


def shared(load: Callable[[str], _Loaded]) -> Callable[[str], _Loaded]:
    """Have `load` give the same object for a spec again, as long as anybody has it: a model takes memory and time."""
    loaded: WeakValueDictionary[str, _Loaded] = WeakValueDictionary()
    lock = Lock()

    @functools.wraps(load)
    def load_once(spec: str) -> _Loaded:
        with lock:
            known = loaded.get(spec)
            if known is None:
                known = loaded[spec] = load(spec)
            return known

    return load_once


def refuse_code(model: str) -> None:
    """Refuse a sentence-transformers model that names classes of others, which loading it would import.

    Of a directory such code is run unasked; of a model of the hub, what is installed here under that name.

    Raises:
        UsageError: it names one, or it is damaged.
    """
    with loading(model):
        foreign = [name for name in _classes(model) if not name.startswith("sentence_transformers.")]
    if foreign:
        raise UsageError(
            f"the index names the model {model}, which brings code of its own ({foreign[0]}): if you trust it, name it "
            "as `model` when you open the index"
        )


def _classes(model: str) -> Iterator[str]:
    """The names of the classes that are imported when the model is loaded."""
    for module in _part(model, "modules.json", "") or ():
        yield str(module["type"])
        yield from _routed(model, module["path"])


def _routed(model: str, folder: str) -> Iterator[str]:
    """Those of the modules that the module in a folder of the model chooses among, if it is a router."""
    for name in _ROUTERS:
        found = _part(model, name, folder)
        if isinstance(found, dict) and isinstance(types := found.get("types"), dict):
            for part, kind in types.items():
                yield str(kind)
                yield from _routed(model, PurePosixPath(folder, part).as_posix())


def _part(model: str, name: str, folder: str) -> Any:
    """The JSON in a file of the model; nothing where it has no such file."""
    path = import_package("sentence_transformers.util").load_file_path(model, name, subfolder=folder)
    return json.loads(Path(path).read_bytes()) if path else None


def without_surrogates(text: str) -> str:
    """The text without lone surrogates, which tokenizers refuse and LMs now and then write."""
    return text.encode("utf-8", "replace").decode("utf-8")


def open_named(spec: str, what: str, forms: Mapping[str, Callable[..., _Loaded]]) -> _Loaded:
    """Open what a short text names, such as ``nli:MODEL``.

    Args:
        what: What errors call it, such as "scorer".
        forms: The texts there are, with what makes each; one with a colon is called with what follows it.

    Raises:
        UsageError: there is no such form, or it cannot be opened.
    """
    name, colon, model = spec.partition(":")
    for form, make in forms.items():
        if form.partition(":")[:2] == (name, colon) and bool(colon) == bool(model):
            return make(model) if colon else make()
    *others, last = forms
    raise UsageError(f"unknown {what} {spec!r}: use {', '.join(others)} or {last}")


class Classifier:
    """A sequence classifier that reads two texts together, and cuts off what it cannot read. Safe for many threads.

    Its arguments and errors are those of `LanguageModel`. `labels` are the names of the model's labels, by number.
    """

    def __init__(self, model: str, *, batch_size: int, device: str | None) -> None:
        library, activation = import_package("sentence_transformers"), import_package("torch").nn.Identity()
        with loading(model):
            self._model = library.CrossEncoder(model, device=device, activation_fn=activation)
        self.labels = {int(n): str(label) for n, label in self._model.config.id2label.items()}
        self._batch_size = batch_size
        self._lock = Lock()  # tokenizers are not for several threads at once

    def read(self, pairs: Sequence[tuple[str, str]], *, softmax: bool = False) -> Any:
        """For each pair the logits of the labels, or their probabilities; a single number where there is one label."""
        texts = [(without_surrogates(first), without_surrogates(second)) for first, second in pairs]
        with self._lock:
            return self._model.predict(
                texts, batch_size=self._batch_size, apply_softmax=softmax, show_progress_bar=False
            )


class LanguageModel:
    """Tells how likely a causal or encoder-decoder language model is to continue a text in a given way.

    Safe for many threads.

    Args:
        model: Directory or hub name.
        batch_size: Prompts at a time.
        max_length: Most tokens that the model is shown at once.
        device: Such as "cpu" or "cuda:1"; by default the best one there is.

    Raises:
        UsageError: the extra is not installed or the model cannot be loaded.
    """

    def __init__(self, model: str, *, batch_size: int, max_length: int, device: str | None) -> None:
        transformers = import_package("transformers")
        self._torch = import_package("torch")
        with loading(model):
            # Else transformers asks on the terminal whether a model's own code may be run.
            config = transformers.AutoConfig.from_pretrained(model, trust_remote_code=False)
            self._seq2seq = bool(config.is_encoder_decoder)
            kind = transformers.AutoModelForSeq2SeqLM if self._seq2seq else transformers.AutoModelForCausalLM
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(model, trust_remote_code=False)
            self._model = kind.from_pretrained(model, dtype="auto", trust_remote_code=False).eval()
        self._model.to(device or import_package("sentence_transformers.util").get_device_name())
        self._batch_size = batch_size
        self._max_length = min(max_length, getattr(config, "max_position_embeddings", None) or max_length)
        self._lock = Lock()  # tokenizers are not for several threads at once

    def log_probabilities(self, prompts: Sequence[tuple[str, str, str]], continuation: str) -> list[list[float]]:
        """For each prompt the natural log-probability of each token of the continuation, given the text before it.

        Args:
            prompts: Each in three parts; of a prompt that is too long, the end of the middle part is left out.
            continuation: Tokenized by itself, without special tokens; at most half of what the model can be shown.
        """
        with self._lock, self._torch.inference_mode():
            goal = self._tokens(continuation)[: self._max_length // 2]
            if not goal:
                return [[] for _ in prompts]
            rows = [self._prompt(*parts, 0 if self._seq2seq else len(goal)) for parts in prompts]
            batches = [rows[n : n + self._batch_size] for n in range(0, len(rows), self._batch_size)]
            return [values for batch in batches for values in self._log_probabilities(batch, goal)]

    def _tokens(self, text: str) -> list[int]:
        return list(self._tokenizer(without_surrogates(text), add_special_tokens=False, verbose=False).input_ids)

    def _prompt(self, before: str, text: str, after: str, reserved: int) -> list[int]:
        special = self._tokenizer("").input_ids
        first = [i for i in special if i == self._tokenizer.bos_token_id][:1]
        last = [i for i in special if i == self._tokenizer.eos_token_id][:1] if self._seq2seq else []
        first, last = first + self._tokens(before), self._tokens(after) + last
        return first + self._tokens(text)[: max(0, self._max_length - reserved - len(first) - len(last))] + last

    def _log_probabilities(self, prompts: Sequence[list[int]], goal: list[int]) -> list[list[float]]:
        """As `log_probabilities`, in tokens. The logits at one position are about the token at the next position."""
        goals = self._torch.tensor([goal] * len(prompts), device=self._model.device)
        if self._seq2seq:
            inputs = self._padded(prompts) | {
                "decoder_input_ids": self._model.prepare_decoder_input_ids_from_labels(goals)
            }
            starts = [0] * len(prompts)
        else:
            inputs = self._padded([prompt + goal for prompt in prompts])
            starts = [len(prompt) - 1 for prompt in prompts]
        logits = self._model(**inputs).logits
        rows = [row[start : start + len(goal)] for row, start in zip(logits, starts, strict=True)]
        values = self._torch.stack(rows).float().log_softmax(-1).gather(-1, goals.unsqueeze(-1))
        return values.squeeze(-1).tolist()  # type: ignore[no-any-return]

    def _padded(self, rows: Sequence[list[int]]) -> dict[str, Any]:
        """Rows padded at their ends: the mask hides that from an encoder, and a causal model does not look ahead."""
        longest = max(map(len, rows))
        table = {
            "input_ids": [row + [0] * (longest - len(row)) for row in rows],
            "attention_mask": [[1] * len(row) + [0] * (longest - len(row)) for row in rows],
        }
        return {name: self._torch.tensor(values, device=self._model.device) for name, values in table.items()}


def same_vectors(known: ArrayLike, made: NDArray[Any]) -> bool:
    """Whether these are the vectors of the same model, up to differences between machines."""
    values = np.asarray(known, np.float64)  # in which nothing that a file holds overflows
    return values.shape == made.shape and bool(np.linalg.norm(values - made) < 0.02 * np.linalg.norm(values))
