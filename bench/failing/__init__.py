"""Failures on a lab for `bench/failures.py` and `bench/interrupt.py`: causes, and remaining processes and locks."""
