"""Resources of retrieval: PostgreSQL with pgvector, and the service before it, on one node."""
