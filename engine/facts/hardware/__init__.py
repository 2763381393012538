"""Parsers of a node's hardware: GPUs, NVLink, InfiniBand, topology and firmware."""
