"""NCCL: bandwidth, results and NVLink SHARP of collectives on one node, on the nodes of a leaf, and on all nodes."""
