"""What a run leaves on disk: its types, and reading them."""
