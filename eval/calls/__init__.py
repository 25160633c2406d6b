"""One question asked, with every LM call of it recorded and within limits."""
