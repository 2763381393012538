"""Parsers of InfiniBand tools: discovery, links, counters, subnet manager, adapters, and cables."""
