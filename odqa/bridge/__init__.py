"""All that touches DSPy beyond its documented interface, and the boundary at which LM calls are seen and bounded.

The documented interface is `dspy.*`, `dspy.lm15`, `dspy.teleprompt`, `dspy.utils.callback.BaseCallback` and
`dspy.utils.exceptions`; nothing else in the house imports from below it. What does is here, with the reason and with
what takes its place when DSPy changes:

| what of DSPy | where | why | when DSPy changes |
| --- | --- | --- | --- |
| `clients.backend_selection`, `clients.engines`, `timeouts_for`, `LM._providers` | own.py | the engine that DSPy \
would choose by a model string, with our transport in it | `dspy.lm(Request)`, which chooses by itself; then a reply's \
size has no bound and headers that drip have no end |
| `LM._async_engine_spec` | own.py, engine.py | the user's asynchronous engine | `LM.async_engine`, which 3.5 has |
| `_vendor.lm15.transports` | transport.py | bounds of size and time | an HTTP client of ours in `RouterConfig` |
| `_vendor.lm15.serde` | calls.py | requests and replies as JSON, for keys and records | our own few fields |
| `clients.capabilities.resolve`, `clients.costs` | prices.py | the price of a reply, which DSPy does not estimate for \
engines that are not its own | prices as `usd` in the provider data, else unknown |
| `utils.dummies.DummyLM` | engine.py | it overrides `forward`, and yet has an engine | it goes with `forward` |
| settings `caller_modules`, `send_stream` | below | who asks, and whether somebody listens | callbacks of modules |
| `adapters.utils` | below | fields of replies are read as DSPy reads them | pydantic, and json_repair |
| `utils.callback.with_callbacks` | below | searches are announced like calls of DSPy's own | watchers of our own |
| `utils.saving` | below | versions in state files, as `Module.save` has them | `importlib.metadata` |
| loggers `dspy.clients.lm`, `dspy.clients.model_metadata` | notices.py | what they say goes to the terminal for every \
call | nothing: a logger that is silent needs no filter |

The boundary is an engine, `complete(Request) -> Response` and its asynchronous twin, which DSPy promises to keep. It
holds for every model string of `dspy.LM`, for engines of the user's own, and for optimizers, whose copies of an LM
share it. It does not hold for classes with a `forward()` of their own, which have no engine (their calls are counted,
and refused by recorded runs), and for an LM that a program itself chooses by `dspy.context` and that is not `bound`. Of
models that only LiteLLM knows, calls have an end, but no bound of size: it makes its HTTP clients itself.
"""

from importlib.metadata import version
from typing import Any

import dspy

try:
    from dspy.adapters.utils import apply_output_field_defaults, get_annotation_name, parse_value
    from dspy.utils.callback import with_callbacks
    from dspy.utils.saving import get_dependency_versions

    from odqa.bridge.calls import Call, Watcher, prompt_of, readable, recordable, said_in, watchers
    from odqa.bridge.engine import TOTAL, bound, is_bound, unbound, within
    from odqa.bridge.notices import quiet
    from odqa.bridge.prices import price
    from odqa.bridge.watching import is_unparsable, modules_alone, watching
except ImportError as error:
    raise ImportError(
        f"dspy-odqa does not work with DSPy {version('dspy')} ({error}): install one that docs/install.md names, such "
        "as pip install 'dspy-ai>=3.4.1,<3.5'"
    ) from error

__all__ = [
    "TOTAL",
    "Call",
    "Watcher",
    "apply_output_field_defaults",
    "bound",
    "get_annotation_name",
    "get_dependency_versions",
    "is_bound",
    "is_streaming",
    "is_unparsable",
    "modules_alone",
    "modules_under_way",
    "parse_value",
    "price",
    "prompt_of",
    "readable",
    "recordable",
    "said_in",
    "unbound",
    "watchers",
    "watching",
    "with_callbacks",
    "within",
]

quiet()


def modules_under_way() -> list[Any]:
    """The modules whose calls have begun here and not ended, the outermost first."""
    return list(dspy.settings.caller_modules or ())


def is_streaming() -> bool:
    """Whether DSPy streams what is asked here: it can from the caller's thread only."""
    return dspy.settings.send_stream is not None
