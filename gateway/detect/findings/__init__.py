"""Findings of the detector, and which of them remain if they overlap."""
