"""Memory of GPUs: size, retired pages, spare rows, repairs and error thresholds."""
