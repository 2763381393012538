"""Gateway: it requires an API key, encrypts the vault, and records every request."""
