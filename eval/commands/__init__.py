"""The subcommands of `python -m eval`, one file each: `add` declares the flags, and a function does the work.

What is slow to import and serves one command alone is imported when that command runs, so that --help stays fast.
"""
