"""Finds columns and rows of tables whose header names an identifier."""
