"""Makes an interrupt no traceback on the command lines, from the first import on.

The packages import this before anything else, because importing DSPy takes seconds. It has an effect only where Python
runs a module (`python -m …`) or `odqa`; `odqa.console.run` sees to interrupts once the command runs.
"""

import sys
from pathlib import Path
from types import TracebackType

__all__: list[str] = []


def _without_interrupts(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, traceback)


if sys.argv[:1] == ["-m"] or Path(sys.argv[0]).stem == "odqa":  # "-m" until Python has found the module to run
    sys.excepthook = _without_interrupts
