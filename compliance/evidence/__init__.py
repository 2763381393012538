"""Evidence records: their model, how a run stores them, and how they are read back."""
