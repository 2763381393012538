"""What nodes are: pure parsers from captured tool output to typed facts."""
