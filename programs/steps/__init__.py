"""Steps that several methods share. None of them knows a method."""
