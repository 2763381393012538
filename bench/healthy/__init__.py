"""Healthy nodes of every platform, as the commands of checks print them, with the variation of real nodes."""
