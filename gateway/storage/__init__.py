"""SQLite and PostgreSQL connections that vault, quota and hand-off share."""
