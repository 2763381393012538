"""Clocks of nodes."""
