"""How many one-line faults in a method the method's own tests notice.

    python benchmarks/mutants.py                            # all methods
    python benchmarks/mutants.py blendfilter --count 200

Each mutant is a copy of a method's file, or of one of the steps that it uses, with one small fault: another comparison,
another constant or sign, another variable handed to a call, a keyword or a bound left out, a condition turned round, a
statement removed. Of the steps only the functions that the method reaches are changed, in a quarter of the mutants. The
tests in tests/programs/test_METHOD.py run against the mutant in a process of its own, then what every method promises
(test_every_method.py), and where they do not notice one of a step, the step's own tests. What nothing notices is
printed with its line. Equal seeds give equal mutants.
"""

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import io
import os
import random
import select
import signal
import sys
import time
from collections.abc import Iterator, Sequence, Set
from contextlib import redirect_stderr, redirect_stdout
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import dspy  # noqa: F401  # imported once, before the processes are forked, as are the next three
import hypothesis.strategies  # noqa: F401
import pytest

import programs
import retrieval.bm25.search  # noqa: F401

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests" / "programs"
OPTIONS = ["-x", "-q", "-p", "no:xdist", "-p", "no:schemathesis", "--hypothesis-seed=0"]
OPTIONS += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # Hypothesis is imported already
LIMIT = 120.0  # seconds that the tests of one mutant may take; a loop without end is noticed
OTHER = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
OTHER |= {ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}
OTHER |= {ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"}


class Mutant(NamedTuple):
    module: str
    line: int
    was: str
    source: str
    now: str


def mutants_of(module: str, only: Set[str] | None = None) -> Iterator[Mutant]:
    """All mutants of a module's constants and functions; `only` names those to change."""
    source = _file(module).read_text(encoding="utf-8")
    tree = ast.parse(source)
    lines = source.split("\n")
    for part in ast.walk(tree):
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
            name, nodes = part.name, _of_body(part)
        elif isinstance(part, ast.Assign) and part in tree.body:
            name, nodes = ast.unparse(part.targets[0]), ast.walk(part.value)
        else:
            continue
        for node in nodes if only is None or name in only else ():
            for change in _changes(node, _variables(part, node)):
                changed = _with(tree, node, change)
                now = "(left out)" if isinstance(change, ast.Pass) else ast.unparse(change).split("\n")[0]
                yield Mutant(module, node.lineno, lines[node.lineno - 1].strip(), ast.unparse(changed), now)


def _of_body(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, without its annotations, its docstring and functions inside."""
    todo: list[ast.AST] = list(getattr(function, "body", []))
    arguments = function.args  # type: ignore[attr-defined]
    todo += [default for default in [*arguments.defaults, *arguments.kw_defaults] if default is not None]
    while todo:
        node = todo.pop(0)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.Expr) and ast.unparse(node.value) == "super().__init__()":
            continue  # left out, it changes nothing: DSPy has done the same before
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        yield node
        todo += [child for child in ast.iter_child_nodes(node) if child is not getattr(node, "annotation", None)]


def _variables(function: ast.AST, node: ast.AST) -> set[str]:
    """The function's arguments, and what it has assigned in the lines before the node."""
    arguments = {argument.arg for argument in ast.walk(function) if isinstance(argument, ast.arg)}
    stored = [n for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return (arguments | {n.id for n in stored if n.lineno < getattr(node, "lineno", 0)}) - {"self"}


def _changes(node: ast.AST, names: set[str]) -> Iterator[ast.AST]:
    """What may stand in the place of the node."""
    new = copy.deepcopy(node)
    match new:
        case ast.Compare(ops=[op]) if type(op) in OTHER:
            new.ops = [OTHER[type(op)]()]
            yield new
        case ast.BoolOp() | ast.BinOp() if type(new.op) in OTHER:
            new.op = OTHER[type(new.op)]()
            yield new
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield new.operand
        case ast.IfExp():
            new.body, new.orelse = new.orelse, new.body
            yield new
        case ast.Constant(value=bool()):
            yield ast.copy_location(ast.Constant(not new.value), node)
        case ast.Constant(value=int() | float()):
            yield ast.copy_location(ast.Constant(new.value + 1), node)
        case ast.Slice() if new.lower or new.upper:
            yield ast.copy_location(ast.Slice(), node)
        case ast.Call():
            yield from _changed_calls(new, names)
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield ast.copy_location(ast.Pass(), node)
        case ast.If():
            new.test = ast.UnaryOp(ast.Not(), new.test)
            yield new
        case ast.Return(value=ast.expr()) if ast.unparse(new) != "return None":
            new.value = ast.Constant(None)
            yield new


def _changed_calls(call: ast.Call, names: set[str]) -> Iterator[ast.AST]:
    if isinstance(call.func, ast.Name) and call.func.id in FUNCTIONS:
        yield _replaced(call, "func", ast.Name(FUNCTIONS[call.func.id], ast.Load()))
    for n, argument in enumerate(call.args):
        for name in sorted(names - {getattr(argument, "id", "")}) if isinstance(argument, ast.Name) else []:
            yield _replaced(call, "args", [*call.args[:n], ast.Name(name, ast.Load()), *call.args[n + 1 :]])
    for n, keyword in enumerate(call.keywords):
        others = [*call.keywords[:n], *call.keywords[n + 1 :]]
        yield _replaced(call, "keywords", others)
        if isinstance(keyword.value, ast.Name):
            for name in sorted(names - {keyword.value.id}):
                other = ast.keyword(keyword.arg, ast.Name(name, ast.Load()))
                yield _replaced(call, "keywords", [*call.keywords[:n], other, *call.keywords[n + 1 :]])


def _replaced(node: ast.AST, field: str, value: object) -> ast.AST:
    new = copy.deepcopy(node)
    setattr(new, field, value)
    return new


def _with(tree: ast.Module, node: ast.AST, change: ast.AST) -> ast.Module:
    """The tree with one node changed."""

    class Exchange(ast.NodeTransformer):
        def visit(self, visited: ast.AST) -> ast.AST:
            return change if visited is node else super().generic_visit(_shallow(visited))

    return ast.fix_missing_locations(Exchange().visit(tree))


def _shallow(node: ast.AST) -> ast.AST:
    new = copy.copy(node)
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            setattr(new, name, list(value))
    return new


class _Loader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the mutant in place of the module."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self._mutant.module:
            return None
        return importlib.util.spec_from_loader(name, self, origin=str(_file(name)))

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(_file(self._mutant.module))
        exec(compile(self._mutant.source, module.__file__, "exec"), module.__dict__)


def survives(mutant: Mutant | None, tests: Path, method: str = "") -> bool:
    """Whether all tests of a file pass with the mutant in place of its module; of contracts those for one method."""
    child = os.fork()
    if child == 0:
        if mutant is not None:
            sys.meta_path.insert(0, _Loader(mutant))
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            code = pytest.main([*OPTIONS, "-k", method, str(tests)])
        os._exit(int(code))
    watched = os.pidfd_open(child)
    ended, _, _ = select.select([watched], [], [], LIMIT)
    os.close(watched)
    if not ended:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


def reached_by(module: str) -> dict[str, set[str]]:
    """By module of the steps, the names of the functions and classes that the module reaches."""
    reached: dict[str, set[str]] = {}
    todo = [(module, None)]
    while todo:
        at, name = todo.pop()
        body = ast.parse(_file(at).read_text(encoding="utf-8")).body
        imported = {n.name: i.module for i in body if isinstance(i, ast.ImportFrom) and i.module for n in i.names}
        here = {n.name: n for n in body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
        roots = body if name is None else [here[name]] if name in here else []
        used = {n.id for root in roots for n in ast.walk(root) if isinstance(n, ast.Name)}
        for other in used:
            owner = imported.get(other, at)
            if owner.startswith("programs.steps.") and other not in reached.setdefault(owner, set()):
                reached[owner].add(other)
                todo.append((owner, other))
    return reached


def _file(module: str) -> Path:
    return ROOT / (module.replace(".", "/") + ".py")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("methods", nargs="*", help="default: all of them")
    parser.add_argument("--count", type=int, default=80, help="most mutants per method (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    for method in args.methods or programs.names():
        tests = TESTS / f"test_{method}.py"
        if not survives(None, tests):
            sys.exit(f"the tests of {method} fail as it is")
        own = list(mutants_of(f"programs.{method}"))
        reached = sorted(reached_by(f"programs.{method}").items())
        of_steps = [mutant for module, names in reached for mutant in mutants_of(module, names)]
        rng = random.Random(args.seed)
        chosen = rng.sample(own, min(len(own), args.count * 3 // 4))
        chosen += rng.sample(of_steps, min(len(of_steps), args.count // 4))
        started = time.perf_counter()
        survived = 0
        for mutant in sorted(chosen):
            room, _, step = mutant.module.rpartition(".")
            of_step = [TESTS / "steps" / f"test_{step}.py"] if room == "programs.steps" else []
            by_method = survives(mutant, tests) and survives(mutant, TESTS / "test_every_method.py", method)
            if by_method and all(survives(mutant, file) for file in of_step):
                survived += 1
                print(f"  {mutant.module}:{mutant.line}: {mutant.was}\n      now {mutant.now}", flush=True)
        seconds = time.perf_counter() - started
        print(f"{method}: {len(chosen)} tried, {survived} survived, {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
