"""Programs that stand in for GPU hardware on lab nodes. Standard library only: they run on the node's own Python.

They carry the real programs' names and print the real formats, from one facts file per node, and say `simulated`
wherever the format has room for it. On a node they lie under /usr/lib/sovctl-lab.
"""
