"""serve searches over the ColBERTv2 protocol, for dspy.ColBERTv2 and colbertv2:URL"""

import argparse
from contextlib import nullcontext

from retrieval.commands.asking import add_lm_flags, asking
from retrieval.specs import FORMS, load

__all__ = ["add_flags", "main"]


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this subcommand."""
    parser.add_argument("retriever", metavar="SPEC", help=" or ".join(FORMS))
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: %(default)s, this machine only)"
    )
    parser.add_argument("--port", type=int, default=8893, help="port; 0 takes a free one (default: %(default)s)")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a further name under which requests may call a server on this machine only, such as that of a proxy",
    )
    parser.add_argument("--max-k", type=int, default=100, help="most passages per query (default: %(default)s)")
    parser.add_argument(
        "--max-query", type=int, default=16384, help="most characters of a query (default: %(default)s)"
    )
    parser.add_argument(
        "--max-batch", type=int, default=32, help="most queries searched together (default: %(default)s)"
    )
    parser.add_argument(
        "--max-waiting", type=int, default=256, help="most queries waiting; others get 503 (default: %(default)s)"
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=10.0,
        help="seconds until a query gets 503, or a slow body 408 (default: %(default)s)",
    )
    add_lm_flags(parser)

    parser.add_argument(
        "--ray",
        nargs="?",
        const="auto",
        metavar="ADDRESS",
        help="search in this Ray cluster, each shard of shards:DIR in processes of its own; without an ADDRESS in that "
        "of this machine, or one made for it; needs the extra ray",
    )
    parser.add_argument(
        "--replicas", type=int, default=1, metavar="N", help="with --ray, processes for each shard (default: 1)"
    )


def main(args: argparse.Namespace) -> None:
    """Serve until a signal comes."""
    from retrieval.remote.server import ServerLimits, serve

    limits = ServerLimits(
        k=args.max_k, query=args.max_query, batch=args.max_batch, waiting=args.max_waiting, timeout=args.timeout
    )
    if args.ray is not None:
        from retrieval.shards.serving import deployed

        with deployed(args.retriever, address=args.ray, replicas=args.replicas, timeout=args.timeout) as front:
            serve(front, host=args.host, port=args.port, limits=limits, names=args.allow_host)
        return
    retriever = load(args.retriever)
    with asking(args) if retriever.asks_lm else nullcontext():
        serve(retriever, host=args.host, port=args.port, limits=limits, names=args.allow_host)
