"""Model folders with one corruption each, for `bench/model_gate.py`."""
