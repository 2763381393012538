"""One file per entity type: its patterns, validators and required context."""
