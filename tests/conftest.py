"""Before DSPy is imported: no cache outside the test run, no look-up of prices on the network and no report over it, no
keys of the user. One thread per computation: several that share a busy core wait for each other. And interrupts that
interrupt, in what the tests start too: a shell has what is in its background ignore them.

Hypothesis judges no example by its time, which says more of the machine's load than of the code."""

import asyncio
import gc
import os
import signal
import tempfile

import pytest
from hypothesis import HealthCheck, settings

os.environ["DSPY_CACHEDIR"] = tempfile.mkdtemp(prefix="dspy-odqa-tests-")
os.environ["HOME"] = tempfile.mkdtemp(prefix="dspy-odqa-tests-")  # where the index of the sample is kept
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ["OMP_NUM_THREADS"] = "1"
for name in ("ODQA_LM", "ODQA_API_BASE", "ODQA_RETRIEVER", "OPENAI_API_KEY"):
    os.environ.pop(name, None)

signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "xdist_group(name): runs in the same process as others of that name")
    config.addinivalue_line("markers", "leaves_sockets: uses clients of servers that DSPy and LiteLLM never close")


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
