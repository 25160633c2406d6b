"""The one folder that touches DSPy beyond its documented interface."""

from dspy.adapters.utils import apply_output_field_defaults, get_annotation_name, parse_value

from odqa.bridge.calls import Call, Watcher, prompt_of, readable, recordable, said_in, watchers
from odqa.bridge.engine import TOTAL, bound, is_bound, unbound, within
from odqa.bridge.prices import price
from odqa.bridge.watching import is_unparsable, modules_alone, watching

__all__ = [
    "TOTAL",
    "Call",
    "Watcher",
    "apply_output_field_defaults",
    "bound",
    "get_annotation_name",
    "is_bound",
    "is_unparsable",
    "modules_alone",
    "parse_value",
    "price",
    "prompt_of",
    "readable",
    "recordable",
    "said_in",
    "unbound",
    "watchers",
    "watching",
    "within",
]
