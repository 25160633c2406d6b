"""Scoring, reranking, filtering and fusing what retrievers found."""
