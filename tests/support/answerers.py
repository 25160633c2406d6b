"""Answerer files for a model of a server on loopback."""

from pathlib import Path
from typing import Any

from support.faulty_server import Provider

from programs.instruments.answerer import Answerer, write_answerer

__all__ = ["written"]


def written(folder: Path, provider: Provider, **changed: Any) -> Path:
    """The file answerer.toml of `direct` over one passage of the sample, with fields of `Answerer` changed."""
    settings = {"api_base": provider.url, "temperature": 0.25, "cache": False}
    usual = Answerer(
        program="direct", settings={"k": 1}, lm="openai/made-up", lm_settings=settings, adapter="json", structured="off"
    )
    write_answerer(folder / "answerer.toml", usual.model_copy(update=changed))
    return folder / "answerer.toml"
