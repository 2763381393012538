"""Sizing: computes GPUs, pools, racks, power and costs from users and models. Pure; every figure has a source.

If the catalogue lacks a figure, the result is an `InputError` that names it, instead of a guess.
"""

GIB = 1 << 30
"""Bytes of one gibibyte, the unit in which drivers and vLLM report memory; a gigabyte is 10^9 bytes."""
