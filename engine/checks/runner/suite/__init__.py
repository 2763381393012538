"""The testinfra suite of `sovctl verify`; it can also be run directly with pytest."""
