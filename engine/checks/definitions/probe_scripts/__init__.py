"""Programs that probes run on a node with its own python3: standard library only, read-only, one JSON line per answer.

Each is sent as text, so each is one file and imports nothing of ours.
"""
