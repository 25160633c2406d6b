"""Making explicit what a question leaves open, and finding words that documents may use for it."""

import dspy

__all__ = ["ListExplicitQueries", "ListRelatedQueries"]


# Chain-of-Rewrite, section 2.1, and its first prompt in appendix A.1.
class ListExplicitQueries(dspy.Signature):
    """The question may be ambiguous or may not say what it is about. List explicit queries that it could stand for:
    name in each the topic that is meant, and add the details that the question leaves out."""

    question: str = dspy.InputField()
    queries: list[str] = dspy.OutputField(desc="up to five explicit queries, the likeliest first")


# Chain-of-Rewrite, section 2.2, and its second prompt in appendix A.1.
class ListRelatedQueries(dspy.Signature):
    """Think of related queries, each different from the others, that would find documents relevant to the query. Then
    take from them the keywords and phrases that belong closely to the query."""

    query: str = dspy.InputField()
    related: list[str] = dspy.OutputField(desc="related queries")
    keywords: list[str] = dspy.OutputField(desc="keywords of a word or a few words, from all the related queries")
