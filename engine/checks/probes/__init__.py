"""What checks of several topics share: commands, programs that run on nodes, and readers of their output."""
