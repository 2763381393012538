"""OSCAL 1.2.1 documents of a report, their schema validation, and the lint of their references."""
