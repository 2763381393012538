"""The tokenizing gateway: nothing personal leaves, and the client does not notice."""
