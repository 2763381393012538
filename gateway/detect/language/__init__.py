"""Language and script of a text."""
