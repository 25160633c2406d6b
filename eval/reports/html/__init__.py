"""A run's report as one HTML file."""
