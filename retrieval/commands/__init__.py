"""The subcommands of `python -m retrieval`, one file each."""
