"""What DSPy's own loggers say of single calls: it is kept from the terminal, and what matters of it is said once."""

import logging

from dspy.lm15 import Response

__all__ = ["note_cut_off", "quiet"]

logger = logging.getLogger(__name__)

_SAID = {
    "dspy.clients.lm": "LM response was truncated",  # said by `note_cut_off`
    "dspy.clients.model_metadata": "Model metadata refresh failed",  # prices are then those of DSPy's release
}
_cut_off = 0


def quiet() -> None:
    """Keep what `note_cut_off` says, and what no user can mend, from DSPy's log."""
    for name, begins in _SAID.items():
        logging.getLogger(name).addFilter(_Without(begins))


def note_cut_off(response: Response) -> None:
    """Say of the first reply of the process that was cut off at its token limit that it was."""
    global _cut_off
    if response.finish_reason == "length":
        _cut_off += 1
        if _cut_off == 1:
            logger.warning("a reply was cut off at its token limit: --max-tokens raises it (said once)")


class _Without(logging.Filter):
    def __init__(self, begins: str) -> None:
        super().__init__()
        self._begins = begins

    def filter(self, record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith(self._begins)
