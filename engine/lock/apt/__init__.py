"""Locks of Debian and Ubuntu packages, made by apt with private folders."""
