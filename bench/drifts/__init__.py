"""Kinds of drift for `bench/drift.py`, their injection on a lab, and the score of plan and verify."""
