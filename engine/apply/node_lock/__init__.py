"""Lock on each node: only one controller applies changes to a node at a time."""
