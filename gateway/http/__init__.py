"""Client connections: TLS, limits, timeouts, back-pressure."""
