"""The declaration of a data set: where its questions are, what they become, and which of them the papers ask."""

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from ssl import SSLError
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import dspy

from eval.tasks.jsonl import example, read
from odqa.files import lines_of
from retrieval import Passage, UsageError
from retrieval.corpora.reader import read as read_corpus

__all__ = [
    "ABSTRACTS",
    "DPR",
    "SEED",
    "RawQuestion",
    "Task",
    "Variant",
    "contexts_by_title",
    "digest",
    "distinct",
]

RawQuestion = Mapping[str, Any]
"""A question in the form that its data set has on the Hugging Face hub."""

SEED = 0
"""The seed of every random sub-sample. No paper that draws one publishes its seed."""
ABSTRACTS = "Wikipedia of 2017, the abstracts"
"""The corpus of HotpotQA, over which the public ColBERTv2 server searched."""
DPR = "Wikipedia of 20 December 2018, 21,015,324 passages of 100 words"
"""The corpus of Karpukhin et al. 2020, which most of the papers search."""
_PATIENCE = 3.0  # seconds for the hub to answer
_PUBLISHED = Path(__file__).with_name("published.json")
"""By data set, the questions that MIGRES's authors publish with their code (AdelWang/MIGRES, data): a `digest` of each,
so that they are found in every copy of the data set, whatever ids it has."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Some of a data set's questions: all of a split, its first ones, or a sample of it."""

    split: str | None
    """Name of the split on the hub; None if the hub does not have it."""
    corpus: str
    """The corpus that the paper searches."""
    source: str
    """The paper and section that names these questions."""
    first: int | None = None
    """How many questions from the start of the split; None for all."""
    sample: int | None = None
    """How many questions drawn at random with SEED, in the order of the split; None for no sample."""
    file: str = "dev"
    """The middle part of the name of a local copy of the split, such as hotpotqa.dev.jsonl.gz."""
    skip: int = 0
    """How many questions at the start of the split are left out, because papers evaluate on them."""
    training: str | None = None
    """The task whose questions make demonstrations for these; None for the data set's own variant `train`."""
    published: str | None = None
    """The data set's name in published.json, whose questions a sample has in it as far as the split has them."""

    def take(self, questions: list[dspy.Example], where: str) -> list[dspy.Example]:
        """The variant's questions among those of its split.

        Args:
            questions: The questions of the split.
            where: Where they are from, for the message.

        Raises:
            UsageError: there are too few questions.
        """
        wanted = self.first or self.sample or 0
        if len(questions) < wanted:
            raise UsageError(
                f"{where} has {len(questions)} questions, and this variant takes {wanted} of the whole split: "
                "put the whole split there, or ask for the data set without its variant"
            )
        if self.skip and len(questions) <= self.skip:
            raise UsageError(
                f"{where} has {len(questions)} questions, and this variant leaves out the first {self.skip}: "
                "put the whole split there, or ask for the data set without its variant"
            )
        if self.sample:
            known = _published(self.published) if self.published else set()
            named = [n for n, question in enumerate(questions) if digest(question.question) in known][: self.sample]
            others = sorted({*range(len(questions))} - {*named})
            drawn = random.Random(SEED).sample(others, self.sample - len(named))
            return [questions[n] for n in sorted([*named, *drawn])]
        return questions[self.skip : self.first]


@dataclass(frozen=True, slots=True)
class Task:
    """A data set of questions."""

    name: str
    hub: str
    """Its id on the Hugging Face hub; `datasets` reads it, and keeps what it downloads."""
    example: Callable[[RawQuestion, str], dict[str, Any]]
    """Turns a raw question into the fields of `eval.tasks.jsonl.example`, with an id for data sets that have none: its
    number in the split, from 0, with the name of the split in front if that is the training set."""
    variants: Mapping[str, Variant]
    """The variants by name; the name of the task alone stands for `all`."""
    config: str | None = None
    contexts: Callable[[RawQuestion], Iterable[tuple[str, str]]] | None = None
    """The passages of a raw question, gold and distracting, as pairs of title and text; None if it brings none."""
    leads: str | None = None
    """The field that says how an answer is found, from which demonstrations take their reasoning; None for none."""
    aliases: str | None = None
    """A file of the authors' release with further names of the answers, by the `answer_id` that a question may have:
    lines of JSON with `Q_id` and `aliases`."""
    release: tuple[str, Callable[[Path], Iterable[tuple[str, str]]]] | None = None
    """Where only the authors' release has the passages: the name of its file, and how to read pairs from it."""

    def questions(self, variant: str, data: Path | None) -> list[dspy.Example]:
        """The questions of a variant.

        Args:
            variant: Its name.
            data: A directory with local copies: a file NAME.dev.jsonl.gz (or .jsonl) of questions, as
                `eval.tasks.jsonl` reads them, or a directory NAME with the data set as the hub has it. Questions of the
                training set are in NAME.train.jsonl.gz or NAME_train.questions.jsonl.gz. Without a copy, the questions
                come from the hub. Where the file `aliases` is there, its names are right answers, too.

        Raises:
            UsageError: there is no such variant, or its questions are out of reach or malformed.
        """
        chosen = self._variant(variant)
        if (file := self.local_copy(variant, data)) is not None:
            return self._with_aliases(chosen.take(list(read(file)), str(file)), data)
        where = f"the split {chosen.split} of {self.hub}"
        split = "train-" if chosen.split == "train" else ""
        questions = []
        for n, row in enumerate(self._rows(chosen, data)):
            try:
                questions.append(example(self.example(row, f"{split}{n}")))
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                problem = f"no {error}" if isinstance(error, KeyError) else error
                raise UsageError(f"row {n} of {where} is not as it should be: {problem}") from error
        return self._with_aliases(chosen.take(questions, where), data)

    def _with_aliases(self, questions: list[dspy.Example], data: Path | None) -> list[dspy.Example]:
        """The questions, with the further names of their answers where the release's file of these is at hand."""
        file = data / self.aliases if data and self.aliases else None
        if file is None or not file.exists():
            return questions
        wanted = {question.get("answer_id") for question in questions}
        names: dict[str, list[str]] = {}
        try:
            with file.open("rb") as lines:
                for entity in map(json.loads, lines_of(lines)):
                    if entity["Q_id"] in wanted:
                        names[entity["Q_id"]] = [str(name) for name in entity["aliases"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{file} is not the file of further names of {self.name}'s answers: {error}") from error
        for question in questions:
            question.answers = distinct(*question.answers, *names.get(question.get("answer_id"), ()))
        return questions

    def local_copy(self, variant: str, data: Path | None) -> Path | None:
        """The file with the questions of a variant's split in the directory; None if there is none.

        Raises:
            UsageError: there is no such variant.
        """
        middle = self._variant(variant).file
        names = [f"{self.name}.{middle}.jsonl", f"{self.name}_{middle}.questions.jsonl"]
        files = [] if data is None else [data / f"{name}{end}" for name in names for end in (".gz", "")]
        return next((file for file in files if file.exists()), None)

    def passages(self, variant: str, data: Path | None) -> Iterator[Passage]:
        """The passages that the questions of a variant's split bring along, each once.

        Args:
            variant: Its name.
            data: A directory with local copies: as for `questions`, and NAME.corpus.jsonl.gz (or .jsonl) with the
                passages, as `retrieval.corpora.reader` reads them. Without that file, ids are hashes of title and text.

        Raises:
            UsageError: the questions bring none, or are out of reach.
        """
        chosen = self._variant(variant)
        names = [f"{self.name}.corpus.jsonl.gz", f"{self.name}.corpus.jsonl"]
        if corpus := next((data / name for name in names if data is not None and (data / name).exists()), None):
            yield from read_corpus(corpus)
            return
        seen = set()
        for title, text in self._pairs(chosen, data):
            id_ = f"{self.name}-{sha256(json.dumps([title, text]).encode()).hexdigest()[:16]}"
            if id_ not in seen and text:
                seen.add(id_)
                yield Passage(id_, text, title)

    def _pairs(self, chosen: Variant, data: Path | None) -> Iterable[tuple[str, str]]:
        if self.contexts is not None:
            return (pair for row in self._rows(chosen, data) for pair in self.contexts(row))
        file, pairs = self.release or (None, None)
        if file and pairs and data is not None and (data / file).exists():
            return pairs(data / file)
        released = f" {file} of the authors' release into DIR, or" if file else ""
        raise UsageError(
            f"the questions of {self.name} bring no passages along: put{released} the passages into "
            f"DIR/{self.name}.corpus.jsonl.gz (lines of id, title, text), and name DIR with --data or ODQA_DATA"
        )

    def training(self, variant: str) -> str:
        """The task whose questions make demonstrations for a variant, in the form of `eval.tasks.load`.

        Raises:
            UsageError: there is no such variant.
        """
        return self._variant(variant).training or f"{self.name}:train"

    def _variant(self, name: str) -> Variant:
        if name not in self.variants:
            raise UsageError(f"{self.name} has no variant {name!r}; there are: {', '.join(self.variants)}")
        return self.variants[name]

    def _rows(self, variant: Variant, data: Path | None) -> Iterable[RawQuestion]:
        copy = None if data is None else data / self.name
        remedy = (
            f"put its questions into DIR/{self.name}.{variant.file}.jsonl.gz (lines of id, question, answers), or a "
            f"copy of the data set {self.hub} into DIR/{self.name}, and name DIR with --data or ODQA_DATA"
        )
        if variant.split is None:
            raise UsageError(f"{self.name} with {variant.source} is not on the hub: {remedy}")
        import datasets  # a heavy import, only needed here

        try:
            if copy is not None and copy.is_dir():
                return datasets.load_dataset(str(copy), self.config, split=variant.split)  # type: ignore[no-any-return]
            with _offline_if_unreachable():
                return datasets.load_dataset(self.hub, self.config, split=variant.split)  # type: ignore[no-any-return]
        except ConnectionError as error:
            raise UsageError(f"cannot reach the hub for {self.hub}: {remedy}") from error
        except (OSError, ValueError) as error:  # from `datasets`: no such data set, split or file
            first = " ".join(str(error).split())[:300]
            raise UsageError(f"cannot read the data set of {self.name}: {first}; {remedy}") from error


@contextmanager
def _offline_if_unreachable() -> Iterator[None]:
    """Where the hub does not answer at once, `datasets` takes what it has kept, or fails at once.

    It would try again for half a minute for each data set, and log every try.
    """
    from datasets import config

    before = config.HF_HUB_OFFLINE
    config.HF_HUB_OFFLINE = before or not _answers(config.HF_ENDPOINT)
    try:
        yield
    finally:
        config.HF_HUB_OFFLINE = before


def _answers(url: str) -> bool:
    try:
        with urlopen(Request(url, method="HEAD"), timeout=_PATIENCE):  # noqa: S310  # the hub's address, as the user set it
            return True
    except HTTPError as error:
        error.close()
        return True
    except URLError as error:
        return isinstance(error.reason, SSLError)  # the hub's own client may know the certificate
    except OSError:
        return False


def digest(question: str) -> str:
    """The first ten digits of the question's hash, whatever its case and white space."""
    return sha256(" ".join(question.lower().split()).encode("utf-8", "replace")).hexdigest()[:10]


@cache
def _published(name: str) -> set[str]:
    return set(json.loads(_PUBLISHED.read_text(encoding="utf-8"))[name].split())


def distinct(*values: str) -> list[str]:
    """The values in order, each once."""
    return list(dict.fromkeys(values))


def contexts_by_title(context: Mapping[str, Any], texts: str) -> Iterator[tuple[str, str]]:
    """Pairs of title and text from the two parallel lists in which HotpotQA and similar data sets keep passages.

    Args:
        context: Has `title`, a list of strings, and a list of passages as lists of sentences.
        texts: The name of the list of passages.
    """
    for title, sentences in zip(context["title"], context[texts], strict=True):
        yield title, " ".join(sentence.strip() for sentence in sentences).strip()
