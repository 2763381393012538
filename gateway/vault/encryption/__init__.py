"""Keys of the vault, and the encryption of values and data keys."""
