"""One recipe per file: its `compile` is an `optimizers.Recipe`, and its `LEAST` says how small each setting may be."""
