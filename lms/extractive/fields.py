"""Fills the wanted fields of a prompt: the name, description and type of a field tell what it is for."""

import ast
import re
from typing import Any

from lms.extractive.passages import JOINT, NumberedPassage, entities, passages, triples
from lms.extractive.reading import Reader
from lms.prompt import Field, Prompt, clean

__all__ = ["fill"]

_QUESTION = r"question|claim|statement|query|problem"
_EVIDENCE = r"context|passage|document|evidence|knowledge|source|article|note|fact|extract|summar|statement|premise"
_ASIDE = r"plan|step|chain|quer|keyword|topic|histor|hint"  # inputs that are no evidence, however long
_ROLES = (  # what a text is for: the first role whose pattern is in the field's name
    ("reasoning", r"\b(?:reason|rationale|thought|explan|analys|justif)"),
    ("plan", r"\b(?:plan|step|decompos|queries|questions|sub ?questions)"),
    ("query", r"\b(?:quer|question|search|rewritten question)"),
    ("note", r"\b(?:notes?|information)\b"),
    ("evidence", r"\b(?:evidence|summar|extract|snippet|statement|fact|sentence|quot|support|rewrit|observ)"),
    ("missing", r"\b(?:missing|gap|lack)"),
    ("topic", r"\b(?:topic|subject|entit|keyword|title)"),
    ("evidence", r"\b(?:passage|document|background|paragraph|knowledge|article|essay|context)"),
    ("answer", r"\b(?:answer|respon|result|candidate)"),
)
_ASSENT = re.compile("yes|true|correct|supported|relevant|sufficient|answerable|entailed|complete")
_DISSENT = re.compile(
    "no|false|wrong|refuted|not .*|(?:un|in|ir)(?:correct|supported|relevant|sufficient|answerable|complete)"
)
_END = re.compile("finish|stop|end|done|answer")
_DENIED = re.compile(r"(?:is_|p_)?(?:un|not?_|miss|need|more_|irrelevant|insufficient)")
_JOINTS = {"plan": "; ", "evidence": " ", "note": JOINT}
_FORMATS = {"date": "2000-01-01", "date-time": "2000-01-01T00:00:00Z", "time": "00:00:00", "duration": "P1D"}
_FORMATS |= {"uuid": "00000000-0000-4000-8000-000000000000", "uri": "https://example.org/"}
_DEEPEST = 8  # levels of a recursive type
_TOOL = r"\(\d+\) (\w+), whose description .*?It takes arguments (\{.*?\})\.(?: \(|$| When )"
_SHORT = 12  # words of an answer
_LITTLE = 0.4  # a question covered less than this counts as not answered


def fill(prompt: Prompt) -> dict[str, Any]:
    """A value for each wanted field, of the field's type, from the prompt's inputs alone."""
    filler = _Filler(prompt, Reader(*_inputs(prompt.inputs), told=_observed(prompt.inputs)))
    return {field.name: filler.value(field.schema, field) for field in prompt.outputs}


def _inputs(inputs: dict[str, str]) -> tuple[str, list[NumberedPassage]]:
    """The question among the inputs, and the passages of all inputs that are evidence.

    The question is the input whose name says so, else the one that ends in a question mark, else the shortest. An input
    is evidence if it is numbered, if its name says so, or if it is long. Only passages of the context keep their
    numbers, or of the first numbered input where no other is the context.
    """
    named = sorted((name for name in inputs if re.search(_QUESTION, name.lower())), key=lambda name: name != "question")
    plain = sorted(inputs, key=lambda name: (not inputs[name].endswith("?"), len(inputs[name])))
    question = next(iter([*named, *plain]), "")
    found = []
    for name, text in inputs.items():
        numbered = re.search(r"(?m)^\[1\] \S", text) is not None
        long = len(text) > 150 and not re.search(_ASIDE, name.lower())
        if name != question and (numbered or long or re.search(_EVIDENCE, name.lower())):
            found.append(((name != "context", not numbered), passages(text)))
    found.sort(key=lambda pair: pair[0])
    first = found[0][1] if found else []
    return inputs.get(question, ""), [*first, *(p._replace(number=0) for _, others in found[1:] for p in others)]


def _observed(inputs: dict[str, str]) -> str:
    """The last short observation in the trajectory of a dspy.ReAct; empty if there is none."""
    seen = re.findall(r"(?m)^(?:\[\[ ## |<)observation_\d+(?: ## \]\]|>)\n(.+)$", "\n".join(inputs.values()))
    answers = [text for text in seen if text != "Completed." and not text.startswith("Execution error")]
    return answers[-1] if answers and len(answers[-1].split()) <= _SHORT else ""


def _role(field: Field) -> str:
    """What a text is for: by the field's name, else by the first role that its description mentions, else an answer."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", field.name).lower()
    named = [role for role, words in _ROLES if re.search(words, name)]
    told = [(match.start(), role) for role, words in _ROLES if (match := re.search(words, field.description.lower()))]
    return named[0] if named else min(told, default=(0, "answer"))[1]


class _Filler:
    """Makes values of any type from what a `Reader` found."""

    def __init__(self, prompt: Prompt, reader: Reader) -> None:
        self._prompt = prompt
        self._reader = reader

    def value(self, schema: dict[str, Any], field: Field, depth: int = 0) -> Any:
        """A value that the JSON schema allows, patterns and lengths of text apart; `field` says what for."""
        schema = field.resolved(schema)
        kind = schema.get("type")
        if choices := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
            possible = [choice for choice in choices if choice.get("type") != "null"]
            return self.value(possible[0], field, depth + 1) if possible and depth < _DEEPEST else None
        if "enum" in schema:
            return self._option(schema["enum"], field)
        if kind == "object":
            parts = schema["properties"] if "properties" in schema else self._arguments(depth)
            fields = {name: Field(name, field.schema, part.get("description", "")) for name, part in parts.items()}
            return {name: self.value(part, fields[name], depth + 1) for name, part in parts.items()}
        if kind == "array":
            return self._list(schema, field, depth)
        if kind in ("number", "integer"):
            return self._number(schema, field, whole=kind == "integer")
        if kind in ("boolean", "null"):
            return self._truth(field) if kind == "boolean" else None
        return _FORMATS.get(schema.get("format", "")) or clean(self._text(field))

    def _arguments(self, depth: int) -> dict[str, dict[str, Any]]:
        """The types of the arguments of the chosen tool among those that a dspy.ReAct lists; empty without tools."""
        tools = dict(re.findall(_TOOL, self._prompt.instructions))
        chosen = [self.value(f.schema, f, depth) for f in self._prompt.outputs if "enum" in f.schema and tools]
        try:
            return next((dict(ast.literal_eval(tools[tool])) for tool in chosen if tool in tools), {})
        except (ValueError, SyntaxError):
            return {}

    def _offered(self, field: Field, words: str) -> str:
        """The first of these words in the field's description or the instructions; empty if there is none."""
        match = re.search(words, f"{field.description} {self._prompt.instructions}", re.I)
        return match[0] if match else ""

    def _texts(self, role: str) -> list[str]:
        """What there is for a role, best first; nothing for one that is a single text."""
        reader = self._reader
        if role in ("plan", "query"):
            return reader.queries()
        if role == "topic":
            return [reader.topic, *reader.uncovered.split()]
        return reader.evidence(3) if role == "evidence" else reader.notes() if role == "note" else []

    def _text(self, field: Field) -> str:
        reader, role = self._reader, _role(field)
        if role == "reasoning":
            answers = any(_role(other) == "answer" for other in self._prompt.outputs)
            end = f"So the answer is {reader.answer}." if reader.answer else "This does not answer the question."
            return " ".join([*reader.evidence(3), *([end] if answers else [])])
        if re.search(r"\bsearch\b.*\banswer\b", field.description) and reader.answer:
            return reader.answer  # the field holds a query or an answer: this is the last step of a loop
        texts = self._texts(role)
        if found := _JOINTS[role].join(texts) if role in _JOINTS else next(iter(texts), ""):
            return found
        if role == "evidence":  # the question's own words: the reader knows nothing
            return self._offered(field, r"\[none\]") or f"{reader.topic}: {reader.question.text.rstrip('?')}."
        if role == "note":
            return self._offered(field, r"\bno helpful information\b")
        if role == "answer":
            return reader.answer or self._offered(field, r"\b(?:unknown|unanswerable)\b")
        return reader.uncovered or "nothing"

    def _list(self, schema: dict[str, Any], field: Field, depth: int) -> list[Any]:
        """The items of a list, by their type.

        Numbers are those of the relevant passages, texts follow from the field's role. There is one object for each
        relevant passage, or for every passage if the object judges it by a boolean. Lists in a list are the facts of a
        passage. Any other list has one item.
        """
        reader, passage = self._reader, self._prompt.inputs.get("passage")
        items = field.resolved(schema.get("items", {}))
        if "prefixItems" in schema:
            return [self.value(item, field, depth + 1) for item in schema["prefixItems"]]
        if items.get("type") == "integer":
            none = self._offered(field, r"\b(?:none|no passages?|empty|if any)\b")
            numbers = reader.relevant(may_be_none=bool(none))
            found: list[Any] = [number for number in numbers if number in items.get("enum", numbers)]
        elif passage and items.get("type") == "array":
            found = triples(passage)
        elif passage and items == {"type": "string"} and field.name == "entities":
            found = entities(passage)
        elif items == {"type": "string"}:
            role = _role(field)
            texts = self._texts(role)
            found = [clean(text) for text in (texts if texts or role == "note" else [self._text(field)])]
        elif items.get("type") == "object" and reader.passages and depth < 2:
            judged = any(part.get("type") == "boolean" for part in items.get("properties", {}).values())
            relevant = reader.relevant(may_be_none=False)
            readers = [Reader(reader.question.text, [p]) for p in reader.passages if judged or p.number in relevant]
            found = [_Filler(self._prompt, each).value(items, field, depth + 1) for each in readers]
        else:
            found = [self.value(items, field, depth + 1)] if depth < _DEEPEST else []
        found += [self.value(items, field, depth + 1) for _ in range(schema.get("minItems", 0) - len(found))]
        return found[: schema.get("maxItems")]

    def _number(self, schema: dict[str, Any], field: Field, *, whole: bool) -> float:
        """The best passage's number, the number in the answer, or the coverage of the question, scaled to the bounds.

        A field whose name denies, such as p_unknown, gets what the coverage lacks.
        """
        step = 1 if whole else 0.001
        low = schema.get("minimum", schema["exclusiveMinimum"] + step if "exclusiveMinimum" in schema else None)
        high = schema.get("maximum", schema["exclusiveMaximum"] - step if "exclusiveMaximum" in schema else None)
        best, said = self._reader.relevant(may_be_none=False), re.search(r"\d{1,9}", self._reader.answer)
        number = 1 - self._reader.coverage if _DENIED.match(field.name) else self._reader.coverage
        if high is not None:
            number = (low or 0) + number * (high - (low or 0))
        elif whole and best and re.search(r"passage|document|number|index|id\b", field.name):
            number = best[0]
        elif said and (whole or re.search("answer|result|value", field.name)):
            number = int(said[0])
        number = max(number, low) if low is not None else number
        return round(number) if whole else round(number, 3)

    def _truth(self, field: Field) -> bool:
        """The answer to a yes/no question if the field's name asks for it; else whether the question is covered."""
        if self._reader.question.kind == "yesno" and re.search(r"answer(?!able)|result|verdict|true", field.name):
            return self._reader.holds
        return (self._reader.coverage > _LITTLE) != bool(_DENIED.match(field.name))

    def _option(self, options: list[Any], field: Field) -> Any:
        """The option that fits best.

        Of yes and no, the true one; unanswerable, where that may be said, without an answer. Of going on and ending, to
        end once there is an answer. Of a scale of numbers, the one that the coverage reaches.
        Else the option that shares most words with the answer and its evidence.
        """
        yes, no, ends = (
            [option for option in options if form.fullmatch(str(option).lower())] for form in (_ASSENT, _DISSENT, _END)
        )
        if yes and no:
            unknown = "unanswerable" in no[1:] and not self._reader.answer
            return "unanswerable" if unknown else yes[0] if self._truth(field) else no[0]
        if ends:
            return (ends if self._reader.answer else [option for option in options if option not in ends] + ends)[0]
        if all(isinstance(option, int) for option in options):
            return options[round(self._reader.coverage * (len(options) - 1))]
        said = set(re.findall(r"\w+", " ".join([self._reader.answer, *self._reader.evidence(1)]).lower()))
        return max(options, key=lambda option: len(said & set(re.findall(r"\w+", str(option).lower()))))
