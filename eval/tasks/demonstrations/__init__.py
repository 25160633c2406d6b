"""Labelled demonstrations: what each predictor should reply to training questions, made from the gold without an LM."""
