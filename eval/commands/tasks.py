"""`python -m eval tasks`: the tasks there are."""

from argparse import Namespace

from eval.tasks import TASKS
from retrieval.command_line import Commands

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Add the command."""
    description = "List the tasks: name, questions, corpus."
    commands.add_parser("tasks", help="list the tasks", description=description).set_defaults(command=_tasks)


def _tasks(args: Namespace) -> None:
    print("sample\tthe packaged questions\tthe retriever sample")
    for name, task in TASKS.items():
        for variant, of in task.variants.items():
            print(name if variant == "all" else f"{name}:{variant}", of.source, of.corpus, sep="\t")
