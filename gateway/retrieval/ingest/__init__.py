"""Ingestion of documents: parsers as untrusted processes, and the commands of `sovctl rag`."""
