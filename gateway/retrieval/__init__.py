"""Retrieval for RAG: documents with permissions in PostgreSQL, as a service of its own next to the gateway."""
