"""One recipe per file.

Its `compile` is an `optimizers.Recipe`, which describes the arguments that all recipes share. Its `LEAST` says how
small each setting may be, and how few questions there may be.
"""
