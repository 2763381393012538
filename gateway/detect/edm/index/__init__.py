"""The index of listed people and companies: built from a CSV file, stored as keyed hashes."""
