"""Subcommands of `python -m sovctl.gateway`, one file each."""
