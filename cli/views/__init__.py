"""Formats results for the terminal."""
