"""build an index from a corpus"""

import argparse
import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from odqa.cluster import Workers
from odqa.console import output, progress_bar, say, saying_on_interrupt
from odqa.errors import UsageError
from odqa.secrets import public
from retrieval.commands.asking import add_lm_flags, asking, bill, given_lm_flags, measured, price
from retrieval.corpora.reader import naming_lines, read
from retrieval.kinds import index_class
from retrieval.passage import Passage

__all__ = ["add_flags", "bytes_of", "main", "reading"]

_SETTINGS = {
    "bm25": ("k1", "b", "stemmer", "stop_words"),
    "dense": ("encoder", "approximate", "batch_size", "device", "resume", "workers", "ray"),
    "colbert": (
        *("checkpoint", "bits", "doc_maxlen", "kmeans_niters"),
        *("batch_size", "device", "resume", "workers", "ray"),
    ),
    "hipporag": ("encoder", "synonyms", "lm_calls", "max_calls", "plan", "batch_size", "device", "resume"),
    "qdrant": (
        *("k1", "b", "stemmer", "stop_words", "encoder", "approximate"),
        *("checkpoint", "doc_maxlen", "datatype", "batch_size", "device", "resume"),
    ),
}
"""The backends, and the flags that each has. A flag that is not given leaves it to the backend's own default."""
_ENCODER = "encoder", ": sbert, ance, contriever, or a model"
_NEEDED = {"dense": _ENCODER, "hipporag": _ENCODER, "colbert": ("checkpoint", ", such as colbert-ir/colbertv2.0")}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this subcommand."""
    parser.add_argument("--backend", choices=_SETTINGS, required=True, help="kind of index")
    parser.add_argument("--corpus", type=Path, required=True, help='JSON lines {"id", "title", "text"}, .gz or plain')
    parser.add_argument(
        "--out", required=True, help="directory to make; for qdrant also URL?collection=NAME (key: QDRANT_API_KEY)"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing index")
    _add_settings(parser)
    add_lm_flags(parser)


def _add_settings(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `_SETTINGS`."""
    models = parser.add_argument_group("dense, colbert, hipporag and qdrant", argument_default=argparse.SUPPRESS)
    models.add_argument(
        "--batch-size", type=int, metavar="N", help="encode N passages at a time (default: 32, colbert 64)"
    )
    models.add_argument("--device", help="where to encode, such as cpu or cuda:1 (default: the best there is)")
    models.add_argument(
        "--resume", action=argparse.BooleanOptionalAction, help="continue an unfinished build (default: --resume)"
    )
    models.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="encode in N processes; needs the extra ray (default: in this one, or with --ray one for each CPU, or for "
        "each GPU if there are any)",
    )
    models.add_argument(
        "--ray",
        nargs="?",
        const="auto",
        metavar="ADDRESS",
        help="encode in this Ray cluster, whose machines must have --out; without an ADDRESS in that of this machine, "
        "or one made for it",
    )
    bm25 = parser.add_argument_group("bm25 and qdrant", argument_default=argparse.SUPPRESS)
    bm25.add_argument("--k1", type=float, help="saturation of term frequency (default: 0.9)")
    bm25.add_argument("--b", type=float, help="weight of a passage's length (default: 0.4)")
    bm25.add_argument("--stemmer", help="a Snowball stemmer, or none (default: english)")
    bm25.add_argument("--stop-words", choices=["english", "none"], help="words to ignore (default: english)")
    models.add_argument(
        "--encoder", help="not colbert: sbert, ance, contriever, or a model's directory or Hugging Face name"
    )
    dense = parser.add_argument_group("dense and qdrant", argument_default=argparse.SUPPRESS)
    dense.add_argument(
        "--approximate", action="store_true", help="search approximately, in a graph of neighbours (HNSW)"
    )
    colbert = parser.add_argument_group("colbert and qdrant", argument_default=argparse.SUPPRESS)
    colbert.add_argument("--checkpoint", help="directory or Hugging Face name, such as colbert-ir/colbertv2.0")
    colbert.add_argument("--bits", type=int, help="bits per number of a residual (default: 2)")
    colbert.add_argument("--doc-maxlen", type=int, help="tokens of a passage (default: 220)")
    colbert.add_argument("--kmeans-niters", type=int, help="iterations of k-means (default: 4)")
    qdrant = parser.add_argument_group("qdrant", argument_default=argparse.SUPPRESS)
    qdrant.add_argument(
        "--datatype", help="how a server stores ColBERT's vectors: float16, turbo8 or turbo4 (default: float16)"
    )
    hipporag = parser.add_argument_group("hipporag", argument_default=argparse.SUPPRESS)
    hipporag.add_argument(
        "--plan",
        action="store_true",
        help="ask no LM and build nothing; print how many LM calls it takes, and the price",
    )
    hipporag.add_argument("--max-calls", type=int, metavar="N", help="stop after N LM calls; the next build goes on")
    hipporag.add_argument("--lm-calls", type=int, metavar="N", help="make at most N LM calls at once (default: 32)")
    hipporag.add_argument(
        "--synonyms", type=float, metavar="COSINE", help="phrases so similar are linked as synonyms (default: 0.8)"
    )


def main(args: argparse.Namespace) -> None:
    """Build the index."""
    settings = _settings(args)
    if args.backend == "hipporag":
        _hipporag(args, **settings)
        return
    start = time.monotonic()
    goes_on = "the same command begins anew" if args.backend == "bm25" else "the same command goes on where it stopped"
    shown = public(args.out)
    stands = f"{shown} is not finished" if args.backend == "qdrant" else f"{shown} is as it was before"
    with saying_on_interrupt(f"{stands}; {goes_on}"), reading(args.corpus) as passages:
        index = _build(args.backend, passages, args.out, overwrite=args.overwrite, **settings)
    seconds = round(time.monotonic() - start, 3)
    output(json.dumps({"passages": len(index), "seconds": seconds} | bytes_of(index.path)))


@contextmanager
def reading(corpus: Path) -> Iterator[Iterator[Passage]]:
    """Gives the passages of a corpus, with a progress bar; errors about them name the lines."""
    if corpus.is_dir():
        raise UsageError(f"{corpus} is a folder: make a corpus of it first: odqa corpus {corpus} --out corpus.jsonl")
    size = corpus.stat().st_size if corpus.is_file() else None
    with progress_bar(desc="reading", total=size, unit="B", unit_scale=True) as bar, naming_lines(corpus):
        yield read(corpus, bar.update)


def bytes_of(index: Path | None) -> dict[str, int]:
    """The bytes of all files of an index, for the line that is printed; nothing of one on a server."""
    return {"bytes": sum(file.stat().st_size for file in index.rglob("*") if file.is_file())} if index else {}


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    """The backend's settings that are given."""
    own = _SETTINGS[args.backend]
    if args.backend != "hipporag" and (given := given_lm_flags(args)):
        raise UsageError(f"{given[0]} is a setting of hipporag: the backend {args.backend} has no such setting")
    for names in _SETTINGS.values():
        for name in names:
            if name in args and name not in own:
                flag = "--" + name.replace("_", "-")
                others = " and ".join(other for other, theirs in _SETTINGS.items() if name in theirs)
                raise UsageError(f"{flag} is a setting of {others}: the backend {args.backend} has no such setting")
    settings = {name: getattr(args, name) for name in own if name in args}
    if args.backend in _NEEDED and not settings.get((needed := _NEEDED[args.backend])[0]):
        raise UsageError(f"the backend {args.backend} needs --{needed[0]}{needed[1]}")
    settings |= {name: None for name in ("stemmer", "stop_words") if settings.get(name) == "none"}
    address, workers = settings.pop("ray", None), settings.pop("workers", None)
    return settings if address is None and workers is None else settings | {"workers": Workers(workers, address)}


def _build(backend: str, passages: Iterable[Passage], out: str, **settings: Any) -> Any:
    """Build an index of this kind."""
    build = index_class(backend).build
    if backend == "bm25":
        return build(passages, out, progress=partial(progress_bar, desc="scoring"), **settings)
    if backend == "qdrant":
        from retrieval.qdrant.address import Address, api_key

        address = Address.parse(out)
        out, settings["collection"], settings["api_key"] = address.location, address.collection, api_key()
    return build(passages, out, progress=progress_bar, **settings)


def _hipporag(args: argparse.Namespace, *, plan: bool = False, **settings: Any) -> None:
    start = time.monotonic()
    goes_on = f"{args.out} is as it was before; the same command goes on where it stopped"
    with asking(args) as lm:
        if plan:
            _print_plan(args, lm)
            return
        try:
            with measured() as cost, saying_on_interrupt(goes_on), reading(args.corpus) as passages:
                index = _build("hipporag", passages, args.out, overwrite=args.overwrite, **settings)
        except BaseException:
            say(f"so far: {json.dumps(bill(cost))}")
            raise
    if index.unread:
        say(
            f"{len(index.unread)} passages have a reply that could not be read, such as {index.unread[0]!r}: "
            f"{Path(args.out) / 'hipporag.json'} lists them; the same command with --overwrite asks about those again"
        )
    seconds = round(time.monotonic() - start, 3)
    done = {"passages": len(index), "facts": index.facts, "unread": len(index.unread), "seconds": seconds}
    output(json.dumps(done | bytes_of(Path(args.out)) | bill(cost)))


def _print_plan(args: argparse.Namespace, lm: Any) -> None:
    from retrieval.hipporag.plan import make_plan

    with reading(args.corpus) as passages:
        plan = make_plan(passages, Path(args.out), lm)
    output(f"{f'{plan.passages:,} passages':20}{'least':>14}{'typical':>14}{'most':>14}")
    for label, amounts in (
        ("LM calls", plan.lm_calls),
        ("input tokens", plan.input_tokens),
        ("output tokens", plan.output_tokens),
    ):
        output(f"{label:20}" + "".join(f"{amount:>14,.0f}" for amount in amounts))
    dollars = [price(lm, *tokens) for tokens in zip(plan.input_tokens, plan.output_tokens, strict=True)]
    prices = ", ".join(f"${usd:,.2f}" for usd in dollars if usd is not None)
    output(f"\nwith {lm.model}: {'the price is unknown' if None in dollars else prices}")
    say(
        "A token is taken as 4 characters. Least: empty replies. Typical: replies as long as those on encyclopedic "
        "passages. Most: replies that cannot be read, each asked for again and cut off at its limit."
    )
