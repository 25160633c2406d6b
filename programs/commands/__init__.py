"""The command line of the methods."""
