"""Loads a `site.yaml`: syntax, schema, `auto` fields, rules, referenced files."""
