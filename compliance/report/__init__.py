"""The report, its renderings, and the standalone verifier."""
