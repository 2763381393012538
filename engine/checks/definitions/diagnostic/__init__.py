"""Diagnostics of DCGM: deployment, memory, links, and GPUs under load."""
