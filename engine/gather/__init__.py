"""Captures of nodes: raw output of read-only commands, collected by one probe."""
