"""Judges by topic: what is expected, and pure functions from captured output to a verdict."""
