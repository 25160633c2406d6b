"""What an LM is asked, one file per kind of act.

The docstring of a signature is sent to the LM, so the comment above the class says where it comes from.
"""
