"""Type of an identifier scheme, and functions that validate its digits."""
