"""What a worker is sent before it is asked anything."""

import io
import os
import pickle
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cloudpickle
import dspy

import retrieval
from eval.metrics import Metric
from odqa.secrets import names_a_secret
from retrieval import Retriever, UsageError

__all__ = ["Job", "Packed"]

_ADDRESS = "_API_BASE", "_BASE_URL"  # how the names of environment variables with addresses of LMs' servers end


@dataclass(frozen=True, slots=True)
class Job:
    """All that a worker needs in order to ask questions."""

    program: dspy.Module
    metrics: Sequence[Metric]
    lm: dspy.LM | None
    adapter: dspy.Adapter | None
    how: Mapping[str, Any]
    """Further arguments of `eval.runs.question.Questioner`."""
    cache: bool

    def packed(self) -> "Packed":
        """The job in the form in which it travels.

        Raises:
            UsageError: something in it cannot be pickled.
        """
        file = io.BytesIO()
        try:
            _Pickler(file).dump(self)
        except Exception as error:  # pickling calls whatever code the objects have
            reason = " ".join(str(error).split())
            raise UsageError(
                f"the program, its LM or a metric cannot be sent to workers ({reason}): open retrievers with "
                "retrieval.load, or ask in this process"
            ) from error
        servers = {name: value for name, value in os.environ.items() if names_a_secret(name) or name.endswith(_ADDRESS)}
        return Packed(file.getvalue(), servers, str(Path.cwd()), tuple(sys.path))


@dataclass(frozen=True, slots=True)
class Packed:
    """A job as bytes, with the keys of servers, which no log and no dashboard of Ray's shows."""

    pickled: bytes
    servers: Mapping[str, str]
    """Environment variables with keys and addresses of servers."""
    folder: str
    """Where relative paths begin."""
    modules: Sequence[str]
    """Where Python looks for modules, such as that of a program of one's own."""

    def __repr__(self) -> str:
        return f"Packed({len(self.pickled)} bytes)"

    def open(self) -> Job:
        """The job, with the same keys, relative paths and modules as where it was packed.

        Raises:
            UsageError, RetrievalError: a retriever cannot be opened here.
        """
        os.environ.update(self.servers)
        if Path(self.folder).is_dir():
            os.chdir(self.folder)
        sys.path += [path for path in self.modules if path not in sys.path]
        job: Job = _Unpickler(io.BytesIO(self.pickled)).load()
        return job


class _Pickler(cloudpickle.Pickler):
    """Pickles a retriever that `retrieval.load` opened as what it was opened by: an index is not copied."""

    def persistent_id(self, thing: Any) -> str | None:
        return thing.opened_as if isinstance(thing, Retriever) else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self._opened: dict[str, Retriever] = {}

    def persistent_load(self, spec: str) -> Retriever:
        if spec not in self._opened:
            self._opened[spec] = retrieval.load(spec)
        return self._opened[spec]
