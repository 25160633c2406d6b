"""State files: what an optimizer learned for a program, as JSON that any DSPy program can load."""

import hashlib
import json
import logging
import tempfile
from pathlib import Path
from typing import Any

import dspy
from pydantic import BaseModel, ConfigDict, ValidationError

from odqa.bridge import get_dependency_versions
from odqa.files import read_whole, write_whole
from programs.instruments.adapters import adapter_name
from retrieval import UsageError
from retrieval.asking import adapter_in_use

__all__ = ["check_writable", "load_state", "save_state"]

logger = logging.getLogger(__name__)


class _Manifest(BaseModel):
    """What `load_state` needs of a manifest; the rest is the optimizer's."""

    model_config = ConfigDict(strict=True)

    program: str | None = None
    adapter: str | None = None
    fields: dict[str, list[str]] = {}
    signatures: dict[str, str] = {}


def save_state(program: dspy.Module, path: str | Path, manifest: dict[str, Any]) -> None:
    """Write the program's state: per predictor its instructions and demonstrations, and a manifest.

    The file is what `program.save` writes, with a `manifest` beside the predictors, so `dspy.Module.load` reads it too.
    No LM is saved (whoever loads the state chooses one) and no retriever. A lone surrogate, which no provider accepts,
    becomes "?". An old file is replaced whole or not at all.

    Args:
        program: The program.
        path: Where to; ends in .json.
        manifest: How the state came about; values that JSON can hold.

    Raises:
        UsageError: the file cannot be written.
    """
    path = Path(path)
    state: dict[str, Any] = {name: {**predictor, "lm": None} for name, predictor in program.dump_state().items()}
    state["manifest"] = {
        "program": type(program).__name__,
        "adapter": adapter_name(dspy.settings.adapter),
        "fields": _fields(program),
        "signatures": _fingerprints(program),
        **manifest,
    }
    state["metadata"] = {"dependency_versions": get_dependency_versions()}
    text = json.dumps(state, indent=2, ensure_ascii=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, f"{text}\n".encode("utf-8", "replace"))
    except OSError as error:
        raise UsageError(f"cannot write the state file {path}: {error.strerror}") from None


def check_writable(path: str | Path) -> None:
    """Check that `save_state` can write the file, before what is to be in it is paid for; its directory is made.

    Raises:
        UsageError: it cannot.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise UsageError(f"cannot write the state file {path}: {error.strerror}") from None
    if path.is_dir():
        raise UsageError(f"cannot write the state file {path}: it is a directory")


def load_state(program: dspy.Module, path: str | Path) -> dict[str, Any]:
    """Give the program the state in the file and return the file's manifest (empty for a file that DSPy wrote).

    Every predictor of the program must be in the file, and have the same fields there; the file may have more, since a
    switch can turn predictors off. Nothing in the file is executed, and an LM named in it is ignored. A logged warning,
    which Python shows on stderr, says so where the state was made under another adapter than DSPy's current one.

    Raises:
        UsageError: the file cannot be read, is no state file, or belongs to another program.
    """
    state = _read(path)
    made = _manifest(path, state)
    name = type(program).__name__
    if made.program not in (None, name):
        raise UsageError(f"{path} is a state of {made.program}, not of {name}")
    for predictor, fields in _fields(program).items():
        if not isinstance(state.get(predictor), dict):
            raise UsageError(f"{path} does not fit {name}: it has no predictor {predictor!r}")
        if made.fields.get(predictor, fields) != fields:
            raise UsageError(
                f"{path} does not fit {name} with these settings: {predictor!r} has the fields "
                f"{', '.join(made.fields[predictor])} there, and {', '.join(fields)} here"
            )
    for predictor, fingerprint in _fingerprints(program).items():
        if made.signatures.get(predictor, fingerprint) != fingerprint:
            raise UsageError(
                f"{path} does not fit this version of {name}: the fields of {predictor!r} had other types or "
                "descriptions when it was compiled; compile it again"
            )
    try:
        for predictor, module in program.named_predictors():
            if not all(isinstance(demo, dict) for demo in state[predictor]["demos"]):
                raise TypeError
            module.load_state({**state[predictor], "lm": None})
            adapter_in_use().format(module.signature, module.demos, {})  # as each question will have it
            module.dump_state()  # as copies do
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} is a damaged state file: {type(error).__name__} in {predictor!r}") from None
    adapter = adapter_name(dspy.settings.adapter)
    if made.adapter not in (None, adapter):
        logger.warning(
            "%s was compiled with the adapter %s and is used with %s: what was learned from one form of prompt may not "
            "hold for another",
            path, made.adapter, adapter,
        )  # fmt: skip
    return dict(state.get("manifest", {}))


def _read(path: str | Path) -> dict[str, Any]:
    """The content of a state file.

    Raises:
        UsageError: it cannot be read, or is no JSON object that an LM can be sent.
    """
    try:
        state = json.loads(read_whole(path).decode())
        json.dumps(state, ensure_ascii=False).encode()
    except OSError as error:
        raise UsageError(f"cannot read the state file {path}: {error.strerror}") from None
    except UnicodeEncodeError:
        raise UsageError(f"{path} is a damaged state file: it has lone surrogates, which no LM can be sent") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path} is no state file: it is not JSON") from None
    if not (isinstance(state, dict) and isinstance(state.get("manifest", {}), dict)):
        raise UsageError(f"{path} is no state file: optimizers write those, with `odqa optimize`")
    return state


def _manifest(path: str | Path, state: dict[str, Any]) -> _Manifest:
    try:
        return _Manifest.model_validate(state.get("manifest", {}))
    except ValidationError as error:
        entry = error.errors(include_url=False, include_input=False)[0]["loc"][0]
        raise UsageError(f"{path} is a damaged state file: {entry!r} in its manifest is of another form") from None


def _fields(program: dspy.Module) -> dict[str, list[str]]:
    """The names of each predictor's fields: the part of a program that a state must fit."""
    return {name: list(predictor.signature.fields) for name, predictor in program.named_predictors()}


def _fingerprints(program: dspy.Module) -> dict[str, str]:
    """A hash of each predictor's fields with their types and descriptions, which compiling does not change."""
    return {name: _fingerprint(predictor.signature) for name, predictor in program.named_predictors()}


def _fingerprint(signature: type[dspy.Signature]) -> str:
    fields = [
        (name, str(field.annotation), field.json_schema_extra["desc"]) for name, field in signature.fields.items()
    ]
    return hashlib.sha256(json.dumps(fields).encode()).hexdigest()[:16]
