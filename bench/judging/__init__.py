"""How `bench/pii.py` judges: documents in, leaks and false hits out. Pure but for the reading of files."""
