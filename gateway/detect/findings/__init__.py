"""The finding: entity type, span and score of one identifier."""
