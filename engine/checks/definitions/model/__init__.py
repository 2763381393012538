"""Model files on nodes."""
