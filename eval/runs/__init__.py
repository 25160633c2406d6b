"""Runs: every question asked, every reply and row kept on disk."""
