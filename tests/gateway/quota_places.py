"""Where the tests count use: a file, and a schema of a real PostgreSQL server."""

from __future__ import annotations

import json
from pathlib import Path

from postgresql_server import DATABASE, PASSWORD, PostgresqlServer
from quota_givens import opened

from sovctl.gateway.quota.postgresql_store import SCHEMA
from sovctl.gateway.quota.store import Store


class SqlitePlace:
    """A folder with a store's file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "quota.db"

    def argument(self) -> str:
        """For another process; see `opened`."""
        return str(self.path)

    async def store(self) -> Store:
        """Opened as one process does it."""
        return await opened(self.argument())


class PostgresqlPlace:
    """An empty schema of a real server."""

    def __init__(self, server: PostgresqlServer, folder: Path) -> None:
        self.server = server
        server.psql(f"DROP SCHEMA IF EXISTS {SCHEMA.name} CASCADE")
        password = folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o600)
        self.settings = {
            "host": "127.0.0.1",
            "port": server.port,
            "database": DATABASE,
            "password_file": str(password),
            "ca_file": str(server.ca_file),
            "statement_timeout_s": 20,
        }

    def argument(self) -> str:
        """For another process; see `opened`."""
        return json.dumps(self.settings)

    async def store(self) -> Store:
        """Opened as one process does it."""
        return await opened(self.argument())


Place = SqlitePlace | PostgresqlPlace
