"""Processors of nodes."""
