"""Who serves a request: candidates, what they can do, how busy they are, and in which order they are tried."""
