"""`python -m programs` lists the methods, one line each."""

from programs import load, names
from retrieval.command_line import run


def _list() -> None:
    for name in names():
        print(f"{name:20} {(load(name).__doc__ or '').splitlines()[0]}")


if __name__ == "__main__":
    run("python -m programs", _list)
