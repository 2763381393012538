"""Life cycle of nodes: states, remedies, circuit breaker, leaf switches, and their records."""
