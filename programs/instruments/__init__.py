"""What handles a program from outside: its cost, its plan, its saved state."""
