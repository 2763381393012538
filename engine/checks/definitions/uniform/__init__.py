"""Nodes of one group compared with each other: equal models and firmware, different serial numbers."""
