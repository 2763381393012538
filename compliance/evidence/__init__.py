"""Evidence records and their store."""
