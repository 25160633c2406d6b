"""Write the passages that come with a task's questions as a corpus.

They are the gold and the distracting ones; odqa index takes the corpus. With --add-to, another corpus is
written first, and then the passages that it lacks.
"""

import json
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from tqdm import tqdm

from eval.commands.options import add_data
from eval.tasks import choose
from eval.tasks.own_passages import write_corpus
from odqa.console import output
from retrieval import UsageError
from retrieval.corpora.reader import read


def add_flags(parser: ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="NAME or NAME:VARIANT")
    parser.add_argument("--out", required=True, metavar="FILE", help="corpus to write, .jsonl or .jsonl.gz")
    parser.add_argument("--add-to", metavar="CORPUS", help="corpus to write first, .jsonl or .jsonl.gz")
    add_data(parser)


def main(args: Namespace) -> None:
    if not args.out.endswith((".jsonl", ".jsonl.gz")):
        raise UsageError(f"a corpus is JSON lines: its name must end in .jsonl or .jsonl.gz, and {args.out} does not")
    task, variant = choose(args.task)
    own = task.passages(variant, None if args.data is None else Path(args.data))
    with tqdm(unit="passage", disable=None, file=sys.stderr) as bar:
        base = () if args.add_to is None else read(args.add_to)
        of_base, added = write_corpus(args.out, own, (bar.update() or passage for passage in base))
    output(json.dumps({"passages": of_base + added, "added": added}))
