"""Which words of a text carry its content."""

import re
from threading import local

import Stemmer

__all__ = ["content_words"]

# Words that carry no content. Negations are not among them: they change what a statement says.
_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a about after all also am an and any are as at be because been before being both but by can could did do does
        doing during each for from further had has have having he her here hers him his how i if in into is it its may
        me might more most must my of on once one only or other our ours out over own s same shall she should so some
        such t than that the their theirs them then there these they this those through to too under until up upon us
        very was we were what when where whether which while who whom whose why will with would you your yours
        """,
    )
)


_stemmers = local()  # one per thread: stemmers keep state, and take a while to make


def content_words(text: str) -> set[str]:
    """The different words of `text`, lower-cased and stemmed, without function and question words."""
    words = [word for word in re.findall(r"\w+", text.lower()) if word not in _FUNCTION_WORDS]
    if not hasattr(_stemmers, "english"):
        _stemmers.english = Stemmer.Stemmer("english")
    return set(_stemmers.english.stemWords(words))
