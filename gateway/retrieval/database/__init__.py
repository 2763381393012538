"""PostgreSQL with pgvector: schema with row-level security, migration and store."""
