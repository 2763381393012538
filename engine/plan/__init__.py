"""Expected, observed, difference: the difference is the plan, and nothing else decides."""
