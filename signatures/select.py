"""Choosing, among numbered passages or facts, those that bear on a question; and naming its topic, which helps."""

from typing import Any

import dspy

from signatures.replies import Numbers

__all__ = [
    "NameTopic",
    "SelectFacts",
    "SelectPassages",
    "SelectPassagesOrNone",
    "SelectUseful",
    "set_aside",
]


class _Selection(Numbers, shows=list[int]):
    """`Numbers`; an empty field is unparsable, because it says neither which are meant nor that none is."""

    @classmethod
    def parse(cls, value: Any) -> list[int]:
        if isinstance(value, str) and not value.strip():
            raise ValueError("says nothing of any passage")
        return super().parse(value)


# BlendFilter, appendix F, first step of knowledge filtering on HotPotQA and 2WikiMultiHopQA.
class NameTopic(dspy.Signature):
    """Name the general topic that the question belongs to."""

    question: str = dspy.InputField()
    topic: str = dspy.OutputField(desc="a noun phrase of a few words")


# BlendFilter, appendix F, knowledge filtering on HotPotQA and 2WikiMultiHopQA. The paper asks for the judgement in one
# completion and for the ids in a second; asked with dspy.ChainOfThought, one reply carries both.
class SelectPassages(dspy.Signature):
    """Go by the numbered passages alone. Take them one after the other and judge, step by step, whether each is
    relevant to the question. More than one can be. Then give the numbers of the relevant ones."""

    topic: str = dspy.InputField(desc="what to set aside while you judge")
    context: str = dspy.InputField(desc="numbered passages, one per line")
    question: str = dspy.InputField()
    relevant: _Selection = dspy.OutputField(desc="numbers of the relevant passages, such as [1, 4]; [] for none")


def set_aside(topic: str) -> str:
    """What `SelectPassages` has in its field `topic`: the request to judge without knowledge of the topic.

    Args:
        topic: The topic; if empty, whatever the question is about.
    """
    return f"Set aside whatever you know about {topic or 'the topic of the question'}."


# BlendFilter, appendix F, knowledge filtering on StrategyQA: no topic, the question first, and there may be nothing to
# keep.
class SelectPassagesOrNone(dspy.Signature):
    """Take the numbered passages one after the other and judge carefully, step by step, whether each is relevant to the
    question. It can be that none is. Then give the numbers of the relevant ones."""

    question: str = dspy.InputField()
    context: str = dspy.InputField(desc="numbered passages, one per line")
    relevant: _Selection = dspy.OutputField(desc="numbers of the relevant passages, such as [1, 4]; [] for none")


# MIGRES, section 2.1 and Table 13, verification of usefulness; there for one statement at a time.
class SelectUseful(dspy.Signature):
    """Take the numbered facts one after the other and decide whether each is useful for answering the question. Then
    give the numbers of the useful ones."""

    facts: str = dspy.InputField(desc="numbered facts, one per line")
    question: str = dspy.InputField()
    useful: Numbers = dspy.OutputField(desc="numbers of the useful facts, such as [1, 4]; [] for none")


# HippoRAG 2 (Gutiérrez et al. 2025), recognition memory: which of the facts that a search found bear on the query. The
# released prompt asks for the facts themselves, and shows ten examples that an optimizer chose; this has none.
class SelectFacts(dspy.Signature):
    """The numbered facts were found by a search for the question. Choose those that help to answer it: facts about what
    it names, and facts that lead from there to what it asks for, for which several steps may be needed. Choose four at
    most. It can be that none helps: a fact that only looks alike, about somebody or something else, does not. Give the
    numbers of the facts that you choose."""

    facts: str = dspy.InputField(desc="numbered facts, one per line: subject | relation and object")
    question: str = dspy.InputField()
    relevant: Numbers = dspy.OutputField(desc="numbers of the facts that help, such as [1, 4]; [] for none")
