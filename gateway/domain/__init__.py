"""Terms that all parts of the gateway use: entity types, obstacles, error codes."""
