"""Corpora: reading them, and fetching the ones that are known by name."""
