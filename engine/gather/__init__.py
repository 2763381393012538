"""Collects facts from nodes with a read-only probe."""
