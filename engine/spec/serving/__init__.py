"""Flags of `vllm serve` as sections of a pool, one module for each topic; every field has the name of its flag."""
