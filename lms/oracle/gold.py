"""What the oracle knows of a question."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Gold", "fold", "leads_of"]

_YES = re.compile(r"\W*(?:yes|true)\W*", re.I)
_NO = re.compile(r"\W*(?:no|false)\W*", re.I)


@dataclass(frozen=True, slots=True)
class Gold:
    """The gold of one question.

    Attributes:
        question: The question, as the program gets it.
        answers: The right answers; the oracle gives the first.
        titles: Sets of titles; the passages of any one set suffice. Empty if they are not known.
        leads: Sub-questions and intermediate answers, in order.
        steps: Sub-questions with their answers, if both are known.
    """

    question: str
    answers: tuple[str, ...]
    titles: tuple[tuple[str, ...], ...] = ()
    leads: tuple[str, ...] = ()
    steps: tuple[tuple[str, str], ...] = ()

    @property
    def yes_no(self) -> bool | None:
        """Whether the answer is yes; None if it is neither yes nor no."""
        if all(map(_YES.fullmatch, self.answers)):
            return True
        return False if all(map(_NO.fullmatch, self.answers)) else None


def leads_of(gold: Gold) -> Sequence[str]:
    """The texts that the oracle can make a query of, the surest first."""
    titles = [title for titles in gold.titles for title in titles]
    return [text for text in [*titles, *gold.leads, *gold.answers] if not (_YES.fullmatch(text) or _NO.fullmatch(text))]


def fold(text: str) -> str:
    """The text in one case and with single blanks, for comparisons."""
    return " ".join(text.casefold().split())
