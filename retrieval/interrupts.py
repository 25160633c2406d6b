"""Makes an interrupt no traceback on the command lines, from the first import on.

The packages import this before anything else, because importing DSPy takes seconds. It has an effect only where Python
runs a module (`python -m …`) or `odqa`; `retrieval.command_line.run` sees to interrupts once the command runs.
"""

import sys
from types import TracebackType

from retrieval.called import by_odqa

__all__: list[str] = []


def _without_interrupts(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, traceback)


if sys.argv[:1] == ["-m"] or by_odqa():  # the first until Python has found the module that it shall run
    sys.excepthook = _without_interrupts
