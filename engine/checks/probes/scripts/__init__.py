"""Programs that probes run on a node: standard library only, read-only, one JSON line per result.

The text of a program is an argument of the probe's command (`commands.python_command`). Therefore each is one
file, and every edit, also of a comment, changes the command that evidence records.
"""
