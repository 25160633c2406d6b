"""The papers' tables and studies: the figures as data, and what runs the same here beside them."""
