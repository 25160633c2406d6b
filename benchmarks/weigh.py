"""What the house weighs: lines by room, long functions, and the files that a question, a run and a request pass.

    python benchmarks/weigh.py

Lines are all lines of Python files that git tracks. A file is passed when a function of it runs, from the command on
(what importing runs is not counted), in this process and its threads.
"""

import argparse
import ast
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import FrameType

import httpx

ROOT = Path(__file__).parents[1]
LONG = 60  # lines of a function


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--note", type=Path, metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.note:
        note_files(args.note, args.words)
    git = ["git", "ls-files"]
    listed = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    sources = [path for path in listed if path.endswith(".py")]
    lines = Counter[str]()
    for path in sources:
        lines[Path(path).parts[0]] += len((ROOT / path).read_text(encoding="utf-8").splitlines())
    tests = lines.pop("tests")
    for room, count in lines.most_common():
        print(f"{room:12} {count:7,}")
    print(f"{'in all':12} {lines.total():7,}\n{'tests':12} {tests:7,}")
    page = sum(
        len((ROOT / path).read_text(encoding="utf-8").splitlines())
        for path in listed
        if path.endswith((".js", ".css", ".html")) and not path.startswith("docs/")
    )
    print(f"{'page, report':12} {page:7,}  (JavaScript, CSS and HTML)\n")
    for length, name in sorted(
        long_functions([path for path in sources if not path.startswith("tests")]), reverse=True
    ):
        print(f"{length:4} lines: {name}")
    question, method = "Which general led the Italian troops at Adwa?", "blendfilter"
    reader = ["--lm", "extractive"]
    for what, files in (
        ("question", files_passed(["ask", method, question, *reader])),
        ("run", files_passed(["eval", "sample", "--program", method, "--limit", "2", *reader])),
        ("request", files_passed(["serve", method, "--port", "0", *reader], {"method": method, "question": question})),
    ):
        print(f"one {what:8} passes {len(files):3} files in {len({path.parent for path in files}):2} folders")


def long_functions(paths: list[str]) -> list[tuple[int, str]]:
    """The functions above `LONG` lines, docstring included: how many, and where."""
    found = []
    for path in paths:
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > LONG:
                    found.append((length, f"{path}:{node.name}"))
    return found


def note_files(into: Path, words: list[str]) -> None:
    """Run a command of odqa and write the files of the house of which a function runs, a line each."""
    from odqa.__main__ import main as odqa

    seen: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.add(frame.f_code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        odqa(words)
    finally:
        sys.setprofile(None)
        ours = {name.removeprefix(f"{ROOT}/") for name in seen if name.startswith(f"{ROOT}/")}
        into.write_text("".join(f"{name}\n" for name in sorted(ours) if not name.startswith((".venv", "benchmarks"))))


def files_passed(words: list[str], ask: dict[str, str] | None = None) -> list[Path]:
    """The files that a command passes; of a server, with one request for an answer."""
    with tempfile.TemporaryDirectory() as folder:
        into = Path(folder) / "files"
        command = [sys.executable, __file__, "--note", str(into), *words]
        with subprocess.Popen(
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr
            if ask:
                address = next(found[0] for line in process.stderr if (found := re.search(r"http://[\w.:]+", line)))
                httpx.post(f"{address}/v1/answers", json=ask, timeout=60).raise_for_status()
                process.send_signal(signal.SIGINT)
            process.communicate()
        return [Path(line) for line in into.read_text().splitlines()]


if __name__ == "__main__":
    main()
