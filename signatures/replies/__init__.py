r"""Types for output fields that read what an LM plainly meant, in whatever form it wrote it.

Reading is one small grammar: a text is stripped of its wrapping (`cleaning`), cut into items (`texts`) or into clauses
and words (`numbers`, `refusals`), and decided by the words of `words.toml`, which has other languages than English too.

They show in the prompt as the plain type that they stand for, such as `list[int]`, and work with every adapter of DSPy.
What cannot be meant raises ValueError, which DSPy turns into its AdapterParseError: an unparsable reply.

| type | shows as | value |
| --- | --- | --- |
| `ShortAnswer` | `str` | the answer without a label, bold type, quotes, citations and explanation around it |
| `Numbers` | `list[int]` | numbers in order of appearance; [] for "None" and the like |
| `YesNo` | `Literal["yes", "no"]` | "yes" or "no" |
| `YesNoOrNone` | `Literal["yes", "no"] \| None` | the same; None for an empty reply and "None" |
| `YesNoOrUnanswerable` | `Literal["yes", "no", "unanswerable"]` | one of these; a refusal is "unanswerable" |
| `Choice` | the `Literal` that a subclass names | one of its words |
| `Texts`, `Keywords` | `list[str]` | the items without bullets and numbering; `Keywords` splits at commas too |
| `Statements` | `list[Statement]` | the statements that can be read; the bad ones among them are left out |
| `Triples` | `list[list[str]]` | the triples of three texts; what is none is left out |
| `Probability` | `float` | from 0 to 1 |
| `ProbabilityOrNone` | `float` | the same; None for anything else, such as "low" |
"""

from signatures.replies.answers import ShortAnswer
from signatures.replies.choices import Choice, YesNo, YesNoOrNone, YesNoOrUnanswerable
from signatures.replies.cleaning import says_nothing
from signatures.replies.numbers import Numbers
from signatures.replies.probability import Probability, ProbabilityOrNone
from signatures.replies.refusals import is_refusal
from signatures.replies.statements import Statement, Statements
from signatures.replies.texts import Keywords, Texts
from signatures.replies.triples import Triples

__all__ = [
    "Choice",
    "Keywords",
    "Numbers",
    "Probability",
    "ProbabilityOrNone",
    "ShortAnswer",
    "Statement",
    "Statements",
    "Texts",
    "Triples",
    "YesNo",
    "YesNoOrNone",
    "YesNoOrUnanswerable",
    "is_refusal",
    "says_nothing",
]
