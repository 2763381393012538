"""Start, removal, status and requirements of a lab."""
