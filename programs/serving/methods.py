"""The methods that are served: what can be set, what is compiled, and a program for each question."""

import json
import re
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import dspy

from programs import load
from programs.instruments.cost import PredictorNames
from programs.instruments.plan import promise
from programs.instruments.settings import Setting, check_names, needs_retriever, settings_of
from programs.instruments.state import load_state
from programs.steps.settings import check
from retrieval import Memory, Retriever, UsageError

__all__ = ["Methods", "Program"]

_MOST = 100  # that a client may set a count to, unless the default is higher
_TYPES = {int: "integer", float: "number", str: "text", bool: "truth"}
_BEFORE = Memory([])  # what programs have in place of a retriever that are only looked at


class Program(NamedTuple):
    """A method with settings, over a retriever."""

    module: dspy.Module
    names: PredictorNames
    settings: dict[str, Any]


class Methods:
    """The methods that a server has.

    Args:
        names: Of the methods.
        states: State files of optimizers, by method.
        settings: Settings that have another default here than in the class, by method.
        programs: The methods of those that have a name of their own here, by that name.

    Raises:
        UsageError: a method, a setting or a state file is not there, or does not fit.
    """

    def __init__(
        self,
        names: Iterable[str],
        *,
        states: Mapping[str, Path] | None = None,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
        programs: Mapping[str, str] | None = None,
    ) -> None:
        self._programs = programs or {}
        self._classes = {name: load(self._programs.get(name, name)) for name in names}
        for name in {**(states or {}), **(settings or {})}:
            self.made_with(name)
        self._defaults = {name: dict((settings or {}).get(name, {})) for name in self._classes}
        for name, made_with in self._classes.items():
            check_names(name, self._defaults[name], settings_of(made_with))
        self._states: dict[str, dict[str, Any]] = {}
        # Before compiling and as served. They are kept, and with them the models that all programs share.
        self._plain: dict[str, tuple[dspy.Module, dspy.Module]] = {}
        for name in self._classes:
            before = served = self._made(name, _BEFORE, self._defaults[name])
            if path := (states or {}).get(name):
                served = self._made(name, _BEFORE, self._defaults[name])
                load_state(served, path)
                self._states[name] = served.dump_state()
            self._plain[name] = before, served
        self._usual: dict[tuple[str, int], Program] = {}  # those with the default settings, by method and retriever
        self._lock = threading.Lock()

    @property
    def names(self) -> list[str]:
        """Their names."""
        return list(self._classes)

    def needs_retriever(self, name: str) -> bool:
        """Whether it cannot be asked closed book."""
        return needs_retriever(self.made_with(name))

    def setting_names(self, name: str) -> list[str]:
        """What of a method can be set; nothing where there is no such method."""
        return [setting.name for setting in self._settings(name)] if name in self._classes else []

    def described(self) -> list[dict[str, Any]]:
        """What clients are told of each."""
        return [
            {
                "name": name,
                "line": self._line(name),
                "settings": [_described(setting) for setting in self._settings(name)],
                "searches": not re.search(r"Searches: none\.", promise(made_with)),
            }
            for name, made_with in self._classes.items()
        ]

    def compiled(self) -> dict[str, bool]:
        """Whether each has a state of an optimizer."""
        return {name: name in self._states for name in self._classes}

    def prompts(self, name: str) -> list[dict[str, Any]]:
        """The instructions and demonstrations of each predictor, as served and, where it is compiled, before.

        Raises:
            KeyError: there is no such method.
        """
        before, served = self._plain[name]
        return [
            {
                "name": predictor,
                "instructions": now.signature.instructions,
                "fields": [_field(field, spec) for field, spec in now.signature.fields.items()],
                "demonstrations": _demonstrations(now),
                "before": {"instructions": was.signature.instructions, "demonstrations": _demonstrations(was)}
                if served is not before
                else None,
            }
            for (predictor, now), (_, was) in zip(served.named_predictors(), before.named_predictors(), strict=True)
        ]

    def program(self, name: str, retriever: Retriever | None, settings: Mapping[str, Any]) -> Program:
        """The method over the retriever, with the client's settings where it gives some.

        Raises:
            UsageError: there is no such method or setting, it cannot be set by a client, or does not fit.
        """
        made_with = self.made_with(name)
        declared = {setting.name: setting for setting in self._settings(name)}
        check_names(name, settings, declared.values())
        check(made_with.__init__, made_with.__name__, settings)
        for given, value in settings.items():
            setting = declared[given]
            if value != setting.default and setting.type is str and not setting.choices:
                raise UsageError(f"{given} of {name} names a model, which only the one who starts the server chooses")
            if setting.type is int and value is not None and value > max(_MOST, setting.default or 0):
                raise UsageError(f"{given} of {name} is at most {max(_MOST, setting.default or 0)} here, not {value}")
        if retriever is None and needs_retriever(made_with):
            raise UsageError(f"{name} needs a retriever: ask another method, or name a retriever that is not none")
        if settings:
            return self._loaded(name, retriever, settings)
        with self._lock:
            key = (name, id(retriever))
            if key not in self._usual:
                self._usual[key] = self._loaded(name, retriever, {})
            return self._usual[key]

    def _line(self, name: str) -> str:
        line = (self._classes[name].__doc__ or "").splitlines()[0]
        return f"{self._programs[name]}: {line}" if name in self._programs else line

    def _loaded(self, name: str, retriever: Retriever | None, given: Mapping[str, Any]) -> Program:
        settings = {setting.name: setting.default for setting in self._settings(name)} | dict(given)
        made = self._made(name, retriever, settings)
        if state := self._states.get(name):
            made.load_state(state)
        return Program(made, PredictorNames(), settings)

    def _made(self, name: str, retriever: Retriever | None, settings: Mapping[str, Any]) -> dspy.Module:
        return self._classes[name](retriever, **settings)

    def _settings(self, name: str) -> list[Setting]:
        """With the defaults that they have here."""
        known = settings_of(self._classes[name])
        return [setting.with_default(self._defaults[name].get(setting.name, setting.default)) for setting in known]

    def made_with(self, name: str) -> type[dspy.Module]:
        """The class of a method.

        Raises:
            UsageError: there is no such method here.
        """
        if name not in self._classes:
            raise UsageError(f"there is no method {name!r} here; there are: {', '.join(self._classes)}")
        return self._classes[name]


def _described(setting: Setting) -> dict[str, Any]:
    type_ = "choice" if setting.choices else _TYPES[setting.type]
    described = {"name": setting.name, "type": type_, "default": setting.default, "help": setting.help}
    return described | ({"choices": list(setting.choices)} if setting.choices else {})


def _field(name: str, spec: Any) -> dict[str, str]:
    extra = spec.json_schema_extra
    return {"name": name, "kind": extra["__dspy_field_type"], "description": extra["desc"]}


def _demonstrations(predictor: dspy.Predict) -> list[dict[str, Any]]:
    """As JSON; a value that JSON has not is its text."""
    return [json.loads(json.dumps(dict(demo), default=str)) for demo in predictor.demos]
