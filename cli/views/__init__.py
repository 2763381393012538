"""Formats the results of commands for the terminal."""
