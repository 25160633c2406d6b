"""Drawing statements from passages, each with the numbers of the passages that it rests on."""

import dspy
import pydantic

__all__ = ["ExtractStatements", "Statement"]


class Statement(pydantic.BaseModel):
    """A statement and its citations."""

    statement: str = pydantic.Field(description="one fact, in a sentence that can be understood by itself")
    passages: list[int] = pydantic.Field(description="numbers of the passages that say so, such as [1, 3]")


# MIGRES, section 3.2, leaf module, and its prompt in Table 17.
class ExtractStatements(dspy.Signature):
    """Distil from the numbered passages the information that helps to answer the question: statements that bring
    together what the question asks for and what the passages say, each with the numbers of the passages that support
    it. Leave out whatever the passages do not say. It can be that they say nothing useful."""

    context: str = dspy.InputField(desc="numbered passages, one per line")
    question: str = dspy.InputField(desc="one question or several")
    statements: list[Statement] = dspy.OutputField(desc="[] if nothing is useful")
