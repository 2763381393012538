"""Simulated GPU software of lab nodes. Standard library only, because it runs with the Python of the node.

The programs have the names and output formats of the real ones, and read one facts file on each node. Their output
contains `simulated` if the format permits it. On a node they are in /usr/lib/sovctl-lab.
"""
