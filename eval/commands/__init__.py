"""The subcommands of `odqa eval`, one file each.

The docstring of a file is its --help, `add_flags` declares its flags, `main` does the work. What is slow to import and
serves one command alone is imported when that command runs, so that --help stays fast.
"""
