"""What requests hold, read and checked; errors say which part is wrong."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request

from programs.serving.answering import Asking
from programs.serving.conversation import Turn
from programs.serving.limits import Limits
from programs.serving.methods import Methods
from programs.serving.problems import Problem
from retrieval.serving.requests import first_fault, json_body

__all__ = ["Ask", "Message", "ModelForm", "RetrieverName", "Settings", "form_of"]

Settings = Annotated[
    dict[str, bool | int | float | str | None],
    Field(description="of the method, those that differ from the defaults; /v1/methods lists them"),
]
RetrieverName = Annotated[str | None, Field(description="where to search; the first one, where none is named")]


class Ask(BaseModel):
    """A question, and how to answer it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    question: str
    method: Annotated[str, Field(description="its name, alone or as METHOD@RETRIEVER")]
    settings: Settings = {}
    retriever: RetrieverName = None
    prompts: Annotated[bool, Field(description="whether to tell prompts and replies")] = False
    stream: Annotated[bool, Field(description="whether to send each step as it happens")] = False


class Part(BaseModel):
    """A part of a message; there are other types than text, which are refused."""

    type: str
    text: str | None = None


class Message(BaseModel):
    """What somebody said."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"] = Field(
        description="what the user and the assistant said is read; other messages are passed over"
    )
    content: str | list[Part] | None = None


class ModelForm(BaseModel):
    """What the forms of OpenAI's interfaces share: a method is a model. What a model would have that a method has not,
    such as a temperature, is passed over; what is this server's own is not."""

    model_config = ConfigDict(extra="allow")

    model: Annotated[str, Field(description="a method, or a method over a retriever: METHOD@RETRIEVER")]
    retriever: RetrieverName = None
    settings: Settings = {}
    stream: bool | None = False

    def asking(self, methods: Methods, messages: Sequence[Message], param: str) -> Asking:
        """The question, which is the last message of the user, with what was said before.

        Args:
            methods: The methods that are served.
            messages: The conversation, the oldest message first.
            param: The field that has them.

        Raises:
            Problem: a field is one of this server's that the interface does not take, or nearly so, or a setting; there
                is no question, or it is something else than text.
        """
        settings = methods.setting_names(self.model.partition("@")[0])
        for name in self.model_extra or {}:
            where = None
            if name in settings:
                where = f'{name} of {self.model} is set as "settings": {{"{name}": …}}'
            elif meant := get_close_matches(name, Ask.model_fields, 1, 0.75):
                where = f"{meant[0]} is said here by model (METHOD or METHOD@RETRIEVER), retriever and settings"
            if where:
                raise Problem(400, f"there is no field {name!r}: {where}", "invalid_request", param=name)
        said = [Turn(m.role, _text(m, param)) for m in messages if m.role == "user" or m.role == "assistant"]
        while said and said[-1].role != "user":
            said.pop()
        if not said:
            raise Problem(400, "there is no message of the user, and so no question", "invalid_request", param=param)
        *before, question = said
        earlier = [turn for turn in before if turn.text.strip()]
        return Asking(question.text, self.model, self.settings, self.retriever, earlier=earlier)


Form = TypeVar("Form", bound=BaseModel)


async def form_of(request: Request, form: type[Form], limits: Limits) -> Form:
    """What the body of a request asks for.

    Raises:
        HTTPException: it does not arrive, or is not said to be JSON.
        Problem: it is not of the form.
    """
    body = await json_body(request, limits.arrival)
    try:
        return form.model_validate_json(body)
    except ValidationError as error:
        param, fault = first_fault(error)
        raise Problem(400, f"{param}: {fault}" if param else fault, "invalid_request", param=param) from None


def _text(message: Message, param: str) -> str:
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    for part in message.content:
        if part.text is None and message.role == "user":
            raise Problem(400, f"questions are text, not {part.type[:40]!r}", "invalid_request", param=param)
    return "\n".join(part.text for part in message.content if part.text is not None)
