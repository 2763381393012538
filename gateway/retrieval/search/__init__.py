"""Selects the search path by the number of visible chunks, and joins embedding, search and reranking."""
