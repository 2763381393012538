"""Normalized views of a text, and pattern scanning over them."""
