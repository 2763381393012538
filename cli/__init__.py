"""Command line of sovctl: one file per command, views that format results, and the error handler."""
