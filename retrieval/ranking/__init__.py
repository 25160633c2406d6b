"""Ordering what retrievers found: scorers, reranking, filtering, fusion; sentences and entailment."""
