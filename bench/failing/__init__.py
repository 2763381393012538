"""Failures on a lab for `bench/failures.py` and `bench/interrupt.py`: their causes, and the search for what is left."""
