"""Server process of a pool: its flags and environment, and their comparison with a running process."""
