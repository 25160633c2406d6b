"""A report of runs as one HTML file that needs no network and no other file.

The figures are those of `eval.figures`. Whatever LMs, passages and errors say stays text: the template escapes it, and
the script of the page sets it as text. The page's policy allows its own style and script only, by their hashes.
"""

import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from eval.reports.formats import COST_COLUMNS
from eval.reports.html.questions import questions
from eval.reports.html.view import View, view
from eval.runs.store import Run
from retrieval import UsageError
from retrieval.files import write_whole

__all__ = ["page", "visible", "write"]

# Control characters, those that turn the direction of what follows, and lone surrogates, which UTF-8 cannot hold.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def page(runs: Sequence[Run]) -> str:
    """The page of one run, or of several of the same task side by side.

    Args:
        runs: At least one, as `eval.runs.store.read` gives them.

    Raises:
        UsageError: the runs cannot be compared, or the passages of one cannot be read.
    """
    environment = _environment()
    style, script = (_asset(environment, name) for name in ("page.css", "page.js"))
    shown = view(runs)
    return environment.get_template("report.html").render(
        page=shown,
        cost_columns=list(COST_COLUMNS),
        data=visible(_data(shown, runs)),
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


def write(path: str | Path, page: str) -> None:
    """Write a page whole or not at all; it replaces a page that is there.

    Raises:
        UsageError: the file cannot be written.
    """
    try:
        write_whole(path, page)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def visible(value: Any) -> Any:
    r"""The value, a text or what JSON can hold, with every character that is not seen, or that changes how others are
    seen, written out as \u202e is."""
    match value:
        case Markup():
            return value
        case str():
            return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", value)
        case dict():
            return {visible(key): visible(item) for key, item in value.items()}
        case list():
            return [visible(item) for item in value]
    return value


def _environment() -> Environment:
    environment = Environment(
        autoescape=True,
        finalize=visible,
        loader=PackageLoader("eval.reports", "html"),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    return environment


def _data(shown: View, runs: Sequence[Run]) -> dict[str, Any]:
    """What the script of the page reads."""
    return {
        "metrics": [{"name": name, "heading": heading} for name, heading in shown.metrics.items()],
        "runs": [{"short": run.short, "title": run.title, "best_of": run.best_of} for run in shown.runs],
        **questions(runs),
    }


def _asset(environment: Environment, name: str) -> str:
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def _hash(content: str) -> str:
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"
