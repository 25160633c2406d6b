"""What the reply types have in common: they get the text of a field as the LM wrote it, and show as a plain type."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from odqa.bridge import get_annotation_name
from signatures.replies.cleaning import breaks_off, without_thinking

if TYPE_CHECKING:
    EnumMeta = type  # type checkers are to see ordinary classes
else:
    from enum import EnumMeta

__all__ = ["Reply"]


class _AsWritten(EnumMeta):
    """The type of the reply types.

    DSPy repairs the text of a typed field as JSON before the type sees it, and "[1] [4]" becomes [4] by that. Only to
    enumerations it gives the text as it is: it looks among their members, by value and then by name. So these types
    pass for enumerations that have every name, and looking a name up is reading the text.
    """

    def __new__(metacls, name: str, bases: tuple[type, ...], namespace: Any, **kwargs: Any) -> "_AsWritten":
        return type.__new__(metacls, name, bases, namespace, **kwargs)

    @classmethod
    def __prepare__(metacls, name: str, bases: tuple[type, ...], **kwargs: Any) -> dict[str, Any]:  # type: ignore[override]
        return {}

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: Any, **kwargs: Any) -> None:
        type.__init__(cls, name, bases, namespace)

    def __iter__(cls) -> Iterator[Any]:
        return iter(())

    def __len__(cls) -> int:
        return 0

    def __repr__(cls) -> str:
        return type.__repr__(cls)

    @property
    def __members__(cls) -> Any:
        return cls

    def __contains__(cls, name: object) -> bool:
        return True

    def __getitem__(cls, name: Any) -> Any:
        return cls.read(name)  # type: ignore[attr-defined]


class Reply(metaclass=_AsWritten):
    """Base class of the reply types. A subclass says which plain type it shows as, and defines `parse`."""

    def __init_subclass__(cls, shows: Any = None) -> None:
        if shows is None:
            return
        cls.shows = shows  # type: ignore[attr-defined]
        cls.__name__ = get_annotation_name(shows)
        if get_origin(shows) is Literal:  # makes DSPy name the words in the prompt
            cls.__origin__, cls.__args__ = Literal, get_args(shows)  # type: ignore[attr-defined]

    @classmethod
    def parse(cls, value: Any) -> Any:
        """The value that is meant by a text or by what JSON holds; ValueError where none can be."""
        raise NotImplementedError

    @classmethod
    def read(cls, value: Any) -> Any:
        """Like `parse`, without what was thought before the value, and with nesting too deep to be read as one more
        ValueError."""
        only = value[0] if isinstance(value, list) and len(value) == 1 else value  # XMLAdapter's way to give an element
        if isinstance(only, str) and breaks_off(only) and not without_thinking(only).strip():
            raise ValueError("breaks off in thought")
        if isinstance(value, str):
            value = without_thinking(value)
        try:
            return cls.parse(value)
        except RecursionError:
            raise ValueError("nested too deeply to be read") from None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        plain = handler.generate_schema(cls.shows)  # type: ignore[attr-defined]
        return core_schema.no_info_plain_validator_function(cls.read, json_schema_input_schema=plain)
