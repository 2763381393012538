"""Checks as data: what is asserted of a node, how it is looked at, and the pure function that judges."""
