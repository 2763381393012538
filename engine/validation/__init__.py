"""Loads and validates a `site.yaml`: syntax, schema, `auto` fields, rules, referenced files."""
