"""Names and paths of the retrieval service and its database on a node."""

from __future__ import annotations

DATABASE_UNIT = "sovctl-retrieval-database"
FOLDER = "/etc/sovctl-retrieval"
"""Settings of PostgreSQL. They contain no secret, and its user cannot read /etc/sovctl."""
SOCKETS = f"/run/{DATABASE_UNIT}"
"""Folder of the Unix socket, the only way into the database."""
DATABASE = ROLE = "sovctl_retrieval"
"""Database, and the role of the service, which owns nothing in it."""
OWNER = "sovctl_retrieval_owner"
"""Role that owns the database, its tables and its search function. It cannot log in."""
READER = "sovctl_retrieval_reader"
"""Role that owns the search functions, and reads the tables with row level security."""
SUPERUSER = "postgres"
PACKAGES = "retrieval"
"""Key of PostgreSQL and pgvector in `engine_packages` of `catalog/operating_systems.yaml`."""
PGVECTOR = "0.8.0"
"""Version of the extension, as in `catalog/locks/pgvector-0.8.0.txt`."""
EXAMPLE_POSTGRESQL = 15
"""Major version in a plan without facts of the node: that of Debian 12."""
