"""Start, stop, status and requirements of a lab."""
