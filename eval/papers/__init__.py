"""The papers' tables, and what runs them here."""
