"""Main memory of nodes: errors and swap."""
