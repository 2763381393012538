"""Derivations of sizing results, step by step."""
