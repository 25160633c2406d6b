"""A report of runs as one HTML file that needs no network and no other file.

The figures are those of `eval.figures`. Whatever LMs, passages and errors say stays text: the template escapes it, and
the script of the page sets it as text. The page's policy allows its own style and script only, by their hashes.
"""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from eval.figures.outcomes import REASONS
from eval.records.run import Run
from eval.reports.html.drawing import bar, key, scale
from eval.reports.html.files import Files, component, files
from eval.reports.html.questions import packed, questions
from eval.reports.html.view import View, view
from eval.reports.html.visible import visible
from odqa.files import write_whole
from retrieval import UsageError
from retrieval.indexes import Progress

__all__ = ["Page", "page", "rendered", "report", "write"]

_COMPONENTS = ("dom.js", "passages.js", "trace.js")


@dataclass(frozen=True, slots=True)
class Page:
    """A report."""

    html: str
    files: Files
    """Its tables and drawings as files; see `eval.reports.html.files`."""


def page(
    runs: Sequence[Run],
    *,
    title: str | None = None,
    prompts: bool = True,
    progress: Progress = lambda parts, desc: parts,
) -> Page:
    """The page of one run, or of several of the same task side by side.

    Args:
        runs: At least one, as `eval.runs.store.read` gives them.
        title: Of the page; by default the programs and the task.
        prompts: Whether it has the prompts and replies, as far as there is room for them.
        progress: Goes through what takes time; see `eval.figures.comparison.compare`.

    Raises:
        UsageError: the runs cannot be compared, or the passages or calls of one cannot be read.
    """
    shown = view(runs, title, progress)
    made = visible(files(shown.parts))
    data = visible(_data(shown, made)) | {"prompts": packed(shown.runs) if prompts else None}
    scripts = [*_COMPONENTS, "tables.js", "report.js"]
    return Page(rendered("report.html", shown.title, scripts, data, page=shown, reasons=REASONS), made)


def rendered(template: str, title: str, scripts: Sequence[str], data: Mapping[str, Any], **shown: object) -> str:
    """A page as HTML.

    Args:
        template: Fills the body of frame.html.
        title: Of the page.
        scripts: Files of JavaScript of this folder and of the served page, each after those that it imports from.
        data: What they read.
        shown: What the template reads besides.
    """
    environment = _environment()
    style = component("base.css") + component("drawing.css") + _asset(environment, "report.css")
    script = _joined([_asset(environment, name) for name in scripts])
    return environment.get_template(template).render(
        title=title,
        data=data,
        style=Markup(style),  # noqa: S704  # a file of this package
        script=Markup(script),  # noqa: S704  # likewise
        style_hash=_hash(style),
        script_hash=_hash(script),
        **shown,
    )


def report(runs: Sequence[Run], path: str | Path, *, title: str | None = None) -> None:
    """Write the page of these runs; see `page` and `write`."""
    write(path, page(runs, title=title).html)


def write(path: str | Path, page: str) -> None:
    """Write a page whole or not at all; it replaces a page that is there.

    Raises:
        UsageError: the file cannot be written.
    """
    try:
        write_whole(path, page)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _environment() -> Environment:
    environment = Environment(
        autoescape=True,
        finalize=visible,
        loader=ChoiceLoader([PackageLoader("eval.reports", "html"), PackageLoader("programs.serving", "page")]),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.globals.update(bar=bar, key=key, scale=scale)
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    return environment


def _data(shown: View, made: Files) -> dict[str, Any]:
    """What the script of the page reads."""
    return {
        "metrics": [{"name": name, "heading": heading} for name, heading in shown.metrics.items()],
        "runs": [
            {"short": run.short, "title": run.title, "best_of": bool(run.run.manifest.best_of)} for run in shown.runs
        ],
        "files": made,
        **questions(shown.runs, list(shown.metrics)),
    }


def _asset(environment: Environment, name: str) -> str:
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def _joined(modules: Sequence[str]) -> str:
    """Modules of JavaScript, each after those that it imports from, as one script. Their names are all different."""
    return '"use strict";\n' + "\n".join(re.sub(r"^import .*\n|^export ", "", text, flags=re.M) for text in modules)


def _hash(content: str) -> str:
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"
