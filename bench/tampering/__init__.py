"""A finished site without nodes, and the ways to tamper with its state folder: `bench/tamper.py`."""
