"""Runs checks with pytest over testinfra connections, and records evidence."""
