"""Finds the identifiers of one request: runs the detector over its strings, adds known names and question context."""
