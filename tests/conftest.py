"""Before DSPy is imported: no cache outside the test run, no look-up of prices on the network and no report over it, no
keys of the user. One thread per computation: several that share a busy core wait for each other. And interrupts that
interrupt, in what the tests start too: a shell has what is in its background ignore them.

All temporary files of a session, those of its processes too, lie in one folder, which is deleted in the end.

Hypothesis judges no example by its time, which says more of the machine's load than of the code."""

import ast
import asyncio
import gc
import importlib.util
import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

if "PYTEST_XDIST_WORKER" not in os.environ:  # the workers share the folder of the process that starts them
    os.environ["TMPDIR"] = tempfile.tempdir = tempfile.mkdtemp(prefix="odqa")  # short, for the names of sockets in it
os.environ["DSPY_CACHEDIR"] = tempfile.mkdtemp()
os.environ["HOME"] = tempfile.mkdtemp()  # where the index of the sample is kept
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ["OMP_NUM_THREADS"] = "1"
for name in ("ODQA_LM", "ODQA_API_BASE", "ODQA_RETRIEVER", "OPENAI_API_KEY"):
    os.environ.pop(name, None)

LONGEST_ID = 40  # characters of a parameter in the name of a test

signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "xdist_group(name): runs in the same process as others of that name")
    config.addinivalue_line("markers", "leaves_sockets: uses clients of servers that DSPy and LiteLLM never close")
    config.addinivalue_line("markers", "needs(module, ...): is skipped where a module of an extra is not installed")
    config.addinivalue_line("markers", "slow: takes more than a second of the processor; `make quick` leaves it out")


def pytest_unconfigure() -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)


def lacking(modules: tuple[str, ...]) -> str | None:
    """Why tests that need these modules are skipped; None where all of them are installed."""
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    return f"needs {', '.join(missing)}" if missing else None


class LackingModule(pytest.Module):
    """A file of tests that need what is not installed: it is not even imported."""

    def collect(self) -> Any:
        raise pytest.skip.Exception(str(lacking(file_needs(self.path))), allow_module_level=True)


def file_needs(path: Path) -> tuple[str, ...]:
    """What the mark `needs` in a file's `pytestmark` names."""
    source = path.read_text(encoding="utf-8")
    if "mark.needs(" not in source:
        return ()
    marks = [node for node in ast.parse(source).body if isinstance(node, ast.Assign)]
    calls = [call for node in marks for call in ast.walk(node.value) if isinstance(call, ast.Call)]
    needed = [call for call in calls if ast.unparse(call.func) == "pytest.mark.needs"]
    return tuple(ast.literal_eval(module) for call in needed for module in call.args)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    if lacking(file_needs(module_path)):
        return LackingModule.from_parent(parent, path=module_path)
    return None


def pytest_make_parametrize_id(val: object) -> str | None:
    """Long texts have the id of their beginning; None leaves the id to pytest."""
    written = ascii(val).removeprefix("b")[1:-1] if isinstance(val, str | bytes) else ""
    return f"{written[:LONGEST_ID]}..." if len(written) > LONGEST_ID else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that have slow tests come first, so that processes that share the work end at about the same time."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs"):
        if why := lacking(mark.args):
            pytest.skip(why)


def pytest_itemcollected(item: pytest.Item) -> None:
    if not item.get_closest_marker("xdist_group"):  # with --dist loadgroup, the tests of a file are a group
        item.add_marker(pytest.mark.xdist_group(str(item.path)))
    if item.get_closest_marker("leaves_sockets"):
        for kind in ("ResourceWarning", "DeprecationWarning", "UserWarning", "pytest.PytestUnraisableExceptionWarning"):
            item.add_marker(pytest.mark.filterwarnings(f"ignore::{kind}"))


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Close what such tests left, while nobody minds: else the warning is of the test that is next to collect it."""
    if item.get_closest_marker("leaves_sockets") and not (nextitem and nextitem.get_closest_marker("leaves_sockets")):
        asyncio.set_event_loop(None)  # LiteLLM makes one, which the next asyncio.run would leave to the collector
        gc.collect()
