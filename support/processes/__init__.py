"""Processes and threads: a command that ends with its parent, a thread that owns a connection, exit on Ctrl-C."""
