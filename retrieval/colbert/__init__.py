"""ColBERT: late interaction over a PLAID index on disk."""
