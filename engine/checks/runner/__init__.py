"""Runs checks with pytest over testinfra connections, and stores evidence."""
