"""Facts of nodes: pure parsers from captured tool output to typed values."""
