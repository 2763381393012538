"""Rows of the vault in SQLite and PostgreSQL."""
