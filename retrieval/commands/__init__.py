"""The subcommands of `odqa`, one file each."""
