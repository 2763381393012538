"""Types of a check: target, probe sections, result, context."""
