"""Retrievers of LangChain, LlamaIndex and Haystack, and plain functions, as ours; and ours as theirs.

Theirs become ours by `as_retriever`, ours theirs by the class in the module that is named for their library, which must
be installed: `langchain.LangChainRetriever`, `llama_index.LlamaIndexRetriever`, `haystack.HaystackRetriever`.
"""

from retrieval.foreign import AnyRetriever, as_retriever

__all__ = ["AnyRetriever", "as_retriever"]
