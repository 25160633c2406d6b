"""Writing what to search for.

A plan in words or as searches, explicit and related queries, sub-questions, the next follow-up question, queries for
what is missing, lacks evidence or is not in the notes yet.
"""

import dspy

from signatures.replies import Texts, YesNo

__all__ = [
    "AskFollowUp",
    "AskForEvidence",
    "AskForHop",
    "AskForMissing",
    "ListExplicitQueries",
    "ListRelatedQueries",
    "ListSubQuestions",
    "PlanQuestion",
    "PlanSearches",
]


# QPaug, section 3.2, Eq. 3, and the example of Table 8: the question with zero-shot chain of thought's request.
class PlanQuestion(dspy.Signature):
    """Think step by step about how the question can be answered, without answering it. Take it apart into simpler
    questions in the order in which they have to be settled, and say for each what has to be looked up: which people,
    works, places or dates, and which facts about them."""

    question: str = dspy.InputField()
    plan: str = dspy.OutputField(desc="three to five numbered steps: in each a simpler question and what to look up")


# Chain-of-Rewrite, section 2.1, and its first prompt in appendix A.1.
class ListExplicitQueries(dspy.Signature):
    """The question may be ambiguous or may not say what it is about. List explicit queries that it could stand for:
    name in each the topic that is meant, and add the details that the question leaves out."""

    question: str = dspy.InputField()
    queries: Texts = dspy.OutputField(desc="up to five explicit queries, the likeliest first")


# Chain-of-Rewrite, section 2.2, and its second prompt in appendix A.1.
class ListRelatedQueries(dspy.Signature):
    """List related queries, each different from the others, that would find documents relevant to the query. Beside
    each, give its keywords: the words and phrases in it that are most closely related to the query."""

    query: str = dspy.InputField()
    related: Texts = dspy.OutputField(desc='each as "related query | keyword, keyword, keyword"')


# Self-Ask, as BlendFilter describes it in appendix C: is a follow-up question needed, and which.
class AskFollowUp(dspy.Signature):
    """Decide whether a follow-up question has to be answered before the question can be. The numbered lines are the
    passages found for earlier follow-up questions; a line that has such a question for its title is the answer given to
    it. If a fact is still missing, ask for that one fact in a question that can be understood by itself: name people,
    works and places instead of pointing back to them, and do not repeat an earlier question."""

    context: str = dspy.InputField(desc="numbered passages and answers, one per line; may be empty")
    question: str = dspy.InputField()
    needed: YesNo = dspy.OutputField(desc="yes if a fact is still missing, no if the question can be answered now")
    follow_up: str = dspy.OutputField(desc="one simple question; empty if none is needed", default_factory=str)


# ALLIES (Sun et al. 2023), beam expansion: with what was asked and found so far, or without either.
class ListSubQuestions(dspy.Signature):
    """List questions whose answers would help to answer the question, the most important first. Make them differ from
    each other, so that each is about another side of it, and from the queries that were sent before. Go by what the
    numbered passages say already, and call people, works and places by their names."""

    question: str = dspy.InputField()
    history: str = dspy.InputField(desc="queries sent before, one per line; may be empty")
    context: str = dspy.InputField(desc="numbered passages that were found, one per line; may be empty")
    queries: Texts = dspy.OutputField(desc="two or three questions that can each be understood by themselves")


# PAR²-RAG (Li et al. 2026), coverage: what can be searched for at once, before anything is known.
class PlanSearches(dspy.Signature):
    """Say what should be searched for so that all that the answer depends on is found. Give each person, work, place or
    event that the question names or describes a search of its own, and make the searches differ, so that together they
    cover the question widely. None of them may wait for what another one finds."""

    question: str = dspy.InputField()
    searches: Texts = dspy.OutputField(desc="two or three queries that can each be understood by themselves")


# MIGRES, section 3.2, query generator, and its prompt in Table 17.
class AskForMissing(dspy.Signature):
    """Write at most three queries that ask for the missing information, so that the question can be answered. If it
    takes several steps to find it, break it down into simple queries that each ask for one fact. Call people, works and
    places by the names that the known facts give them. Ask for nothing that is known, and ask differently from the
    question and from every query that was sent before."""

    question: str = dspy.InputField()
    history: str = dspy.InputField(desc="queries sent before, one per line")
    facts: str = dspy.InputField(desc="known facts, numbered, one per line; may be empty")
    missing: str = dspy.InputField(desc="the missing information; may be empty")
    queries: Texts = dspy.OutputField(desc="up to three new queries")


# VTG, evidence finder: diverse queries for a claim that no document in memory supports.
class AskForEvidence(dspy.Signature):
    """The statement was written to help to answer the question, and needs evidence. Write up to three queries, each
    different from the others, that would find passages which confirm or correct it: call people, works and places by
    their names, and ask for one fact each."""

    question: str = dspy.InputField()
    statement: str = dspy.InputField(desc="what needs evidence")
    queries: Texts = dspy.OutputField(desc="up to three queries")


# DSPy's multi-hop program, which has the names of the fields for a prompt.
class AskForHop(dspy.Signature):
    """Facts from several passages have to be put together to answer the question. See what the notes tell already, and
    write a query for one fact that is still missing: call people, works and places by their names, also by those that
    only the notes have."""

    question: str = dspy.InputField()
    notes: str = dspy.InputField(desc="numbered notes on what was found so far, one per line; empty at the beginning")
    query: str = dspy.OutputField(desc="what to search for next")


# A conversation's last question, as in conversational search (Elgohary et al. 2019, CANARD).
class MakeStandAlone(dspy.Signature):
    """Write the question so that it can be understood without the conversation before it: in the place of words that
    point back, put the names of people, works and places that the conversation gives. Do not answer it, and add nothing
    that it does not ask for. A question that can be understood by itself stays as it is."""

    conversation: str = dspy.InputField(desc="what was said before, the oldest first, one turn per line")
    question: str = dspy.InputField()
    alone: str = dspy.OutputField(desc="the question that can be understood by itself")
