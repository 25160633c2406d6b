"""The console script `odqa`, whose commands are those of all rooms."""
