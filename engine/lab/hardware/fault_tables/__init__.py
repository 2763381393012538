"""Faults of the simulated hardware of a node, one table for each topic, and the checks that find them."""
