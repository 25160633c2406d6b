"""Steps that several methods share."""
