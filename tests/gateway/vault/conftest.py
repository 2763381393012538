"""Homes for the vault's tests: a file, and a database of a real PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hardware_token import HardwareToken
from postgresql_server import PostgresqlServer
from vault_homes import Home, PostgresqlHome, SqliteHome

from sovctl.gateway.vault.database.postgresql_store import SCHEMA


@pytest.fixture(scope="session")
def hardware_token(tmp_path_factory: pytest.TempPathFactory) -> HardwareToken:
    """One PKCS#11 token for all tests of a session, with two keys."""
    token = HardwareToken(tmp_path_factory.mktemp("softhsm"))
    for label in ("kek", "another"):
        token.make_key(label)
    return token


@pytest.fixture(scope="session")
def postgresql(pki: Any) -> Iterator[PostgresqlServer]:
    """A server of the vault's own: whatever is in its dumps, the vault wrote."""
    server = PostgresqlServer(pki.certificate_file, pki.key_file, pki.ca_file)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def postgresql_home(postgresql: PostgresqlServer, tmp_path: Path) -> PostgresqlHome:
    """An empty database for what only a server can do."""
    postgresql.psql(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    return PostgresqlHome(postgresql, tmp_path)


@pytest.fixture
def sqlite_home(tmp_path: Path) -> SqliteHome:
    """A new place for what only a file can do."""
    return SqliteHome(tmp_path)


@pytest.fixture(params=["sqlite_home", "postgresql_home"], ids=["sqlite", "postgresql"])
def home(request: pytest.FixtureRequest) -> Home:
    """A new place, in each of the stores."""
    place: Home = request.getfixturevalue(request.param)
    return place
