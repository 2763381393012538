"""Sizing: from people and models to GPUs, pools, racks, power and money. Pure arithmetic; every figure has a source.

Bytes are bytes; `GIB` is 2^30 of them. What the catalogue does not know is an error that says so, never a guess.
"""

GIB = 1 << 30
"""Bytes of a gibibyte, in which drivers and vLLM count memory; a gigabyte has 10^9."""
