"""Drawing from passages what a question needs.

Statements with citations; notes; what a chain of reasoning needs to go on; a summary or a snippet of one passage; the
analysis of one document and the candidate answer in it; and, for an index, the names and the facts of a passage.
"""

import dspy

from signatures.replies import Numbers, ShortAnswer, Statements, Texts, Triples

__all__ = [
    "AnalyseDocument",
    "CondensePassages",
    "ExtractSnippet",
    "ExtractStatements",
    "ExtractTriples",
    "NameCandidate",
    "NameEntities",
    "SummarizePassage",
    "TakeNotes",
]


# MIGRES, section 3.2, leaf module, and its prompt in Table 17.
class ExtractStatements(dspy.Signature):
    """Distil from the numbered passages the information that helps to answer the question: statements that bring
    together what the question asks for and what the passages say, each with the numbers of the passages that support
    it. Leave out whatever the passages do not say. It can be that they say nothing useful."""

    context: str = dspy.InputField(desc="numbered passages, one per line")
    question: str = dspy.InputField(desc="one question or several")
    statements: Statements = dspy.OutputField(desc="[] if nothing is useful")


# Search-o1 (Li et al. 2025), reason-in-documents: from the reasoning so far, the query and what it found. The paper's
# prompt does not repeat the question.
class CondensePassages(dspy.Signature):
    """While reasoning about the question, somebody searched with the query. Read the numbered passages one after the
    other and work out what they say that answers the query and takes the reasoning further. Write that down so that the
    reasoning can go on with it, and leave out the rest. If the passages are no help, write: No helpful information"""

    question: str = dspy.InputField()
    chain: str = dspy.InputField(desc="the reasoning up to this search; may be empty")
    query: str = dspy.InputField()
    context: str = dspy.InputField(desc="numbered passages that the query found, one per line")
    information: str = dspy.OutputField(desc="the facts that help, in a few sentences that name what they are about")


# ALCE's SUMM, which MIGRES compares its sentence filter with (Tables 3, 5 and 16).
class SummarizePassage(dspy.Signature):
    """Summarize the passage in at most 50 words with a view to the question, and keep the dates, numbers and names that
    matter. If the passage has nothing to do with the question, the summary is: irrelevant"""

    passage: str = dspy.InputField()
    question: str = dspy.InputField()
    summary: str = dspy.OutputField(desc="at most 50 words, or the word irrelevant")


# ALCE's SNIPPET, likewise.
class ExtractSnippet(dspy.Signature):
    """Take from the passage a span that helps to answer the question, and put names in place of the pronouns in it, so
    that it can be understood by itself. If the passage is no help, the snippet is: irrelevant"""

    passage: str = dspy.InputField()
    question: str = dspy.InputField()
    snippet: str = dspy.OutputField(desc="a span of the passage, or the word irrelevant")


# Chain-of-Rewrite, section 2.1, and the first prompt in appendix A.2. Its two paragraphs are two fields.
class AnalyseDocument(dspy.Signature):
    """Analyse step by step whether the document has information that answers the question. Then give the sentences of
    the document that the analysis rests on."""

    title: str = dspy.InputField(desc="title of the document; may be empty")
    document: str = dspy.InputField()
    question: str = dspy.InputField()
    analysis: str = dspy.OutputField(desc="one paragraph")
    evidence: str = dspy.OutputField(
        desc="sentences of the document, word for word, one per line; may be empty", default_factory=str
    )


# Chain-of-Rewrite, section 2.1, and the second prompt in appendix A.2.
class NameCandidate(dspy.Signature):
    """Going by the analysis, take from the document the entity that answers the question. Where the document has no
    information that bears on the question, write: unknown"""

    question: str = dspy.InputField()
    title: str = dspy.InputField(desc="title of the document; may be empty")
    document: str = dspy.InputField()
    analysis: str = dspy.InputField(desc="what the document says about the question; may be empty")
    candidate: ShortAnswer = dspy.OutputField(desc="the answer entity alone, or the word unknown")


# DSPy's multi-hop program, which asks for the titles of the pages in place of numbers, and has the names of the fields
# for a prompt.
class TakeNotes(dspy.Signature):
    """Read the numbered passages, which were searched for to answer the question, and note the facts that take it
    further and are not in the notes yet. Name in each note whom and what it is about, because the passages will not be
    shown again. Then give the numbers of the passages that the new notes rest on. It can be that they say nothing
    useful."""

    question: str = dspy.InputField()
    notes: str = dspy.InputField(desc="numbered notes on what was found before, one per line; may be empty")
    context: str = dspy.InputField(desc="numbered passages, one per line")
    new_notes: Texts = dspy.OutputField(desc="new facts, one short sentence each; [] if nothing is useful")
    relevant: Numbers = dspy.OutputField(
        desc="numbers of the passages that they rest on, such as [1, 4]; [] for none", default_factory=list
    )


# HippoRAG 2 (Gutiérrez et al. 2025), indexing, first step. The released prompt shows one example, and this none.
class NameEntities(dspy.Signature):
    """List the named entities of the passage: people, places, organisations, works, events and whatever else has a name
    of its own, and also dates and numbers that facts are stated of. Write each as the passage does."""

    passage: str = dspy.InputField()
    entities: Texts = dspy.OutputField(desc="each once; [] if the passage names none")


# HippoRAG 2, indexing, second step, given the entities of the first; likewise.
class ExtractTriples(dspy.Signature):
    """Write down the facts that the passage states as triples of subject, relation and object. At least one of subject
    and object should be among the entities, better both. Put the name itself where the passage has a pronoun or a
    description for it. Keep each part short, state each fact once, and add nothing that the passage does not say."""

    passage: str = dspy.InputField()
    entities: str = dspy.InputField(desc="names in the passage, one per line; may be empty")
    triples: Triples = dspy.OutputField(desc='such as [["Ada Quill", "was born in", "Lund"]]; [] if it states no fact')
