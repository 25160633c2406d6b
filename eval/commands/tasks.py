"""List the tasks: name, questions, corpus."""

from argparse import ArgumentParser, Namespace

from eval.tasks import TASKS
from odqa.console import output


def add_flags(parser: ArgumentParser) -> None:
    """There are none."""


def main(args: Namespace) -> None:
    output("sample\tthe packaged questions\tthe retriever sample")
    for name, task in TASKS.items():
        for variant, of in task.variants.items():
            output("\t".join([name if variant == "all" else f"{name}:{variant}", of.source, of.corpus]))
