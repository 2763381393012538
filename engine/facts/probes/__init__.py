"""Read-only probes that run on nodes with the node's python3. Each is one file of the standard library only."""
