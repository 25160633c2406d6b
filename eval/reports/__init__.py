"""Figures as text, as a page, as tables of other tools."""
