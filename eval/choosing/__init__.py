"""Races between methods: which one is best for these questions, these passages, this LM, at which price."""
