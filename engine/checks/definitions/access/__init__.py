"""Access to nodes."""
