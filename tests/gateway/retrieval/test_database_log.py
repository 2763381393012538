"""The log of PostgreSQL with the planned settings contains no text, also if a statement of the service fails."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
from gateway_yaml import Pki
from postgresql_server import PostgresqlServer
from retrieval_database import DIGEST, RetrievalDatabase, caller, chunks, document, require_pgvector, vector

import sovctl
from sovctl.engine.resources.retrieval import postgresql
from sovctl.engine.spec.retrieval import Collection, Retrieval
from sovctl.gateway.retrieval.database.failures import DatabaseUnavailable
from sovctl.gateway.retrieval.database.store import Store

SECRET = "hidden-merger-text"
ROLES = Path(sovctl.__file__).parent / "roles" / "retrieval" / "files" / "roles.sql"


@pytest.fixture
def planned(pki: Pki) -> Iterator[PostgresqlServer]:
    """A server with the settings of a node."""
    require_pgvector()
    retrieval = Retrieval(
        node="s1", embedding_pool="e", collections=[Collection(name="handbook")], shared_buffers_mib=128
    )
    of_the_place = ("listen_addresses", "unix_socket_directories")
    settings = {name: each for name, each in postgresql.settings(retrieval).items() if name not in of_the_place}
    server = PostgresqlServer(pki.certificate_file, pki.key_file, pki.ca_file, settings=settings)
    server.start()
    yield server
    server.stop()


def log_after_failures(server: PostgresqlServer, database: RetrievalDatabase) -> str:
    """Return the log after statements of the service with SECRET as literal, parameter and document have failed."""

    async def by_hand() -> None:
        session = await database.connect()
        for statement, arguments in (
            (f"SELECT 1 / 0, '{SECRET}'", ()),
            (f"SELECT '{SECRET}'::integer", ()),
            ("SELECT 1 / $1::integer, $2::text", (0, SECRET)),
            ("SELECT ($1::text)::integer", (SECRET,)),
            ("SELECT ($1::text)::json", ('{"' + SECRET,)),
            ("SELECT * FROM retrieval.search_exact($1, $2, $3, $4, 5)", (SECRET, b"", DIGEST, SECRET)),
            ("DO $$ BEGIN RAISE WARNING '" + SECRET + "'; RAISE EXCEPTION '" + SECRET + "'; END $$", ()),
        ):
            with pytest.raises(asyncpg.PostgresError):
                await session.fetch(statement, *arguments)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await session.execute("SET log_min_messages = 'warning'")
        await session.close()

    async def use(store: Store) -> None:
        with pytest.raises(DatabaseUnavailable):  # two dimensions too few
            await store.put(document(SECRET, ["board"]), chunks(SECRET), {DIGEST: [[1.0] * 6]})
        await store.put(document(SECRET, ["board"]), chunks(SECRET), {DIGEST: [vector(0)]})
        (hit,) = await store.search(caller("board"), "handbook", vector(0), 5)
        assert hit.text == SECRET

    asyncio.run(database.migrate())
    asyncio.run(by_hand())
    database.with_store(use)
    text: str = (server.folder / "log").read_text()
    return text


def test_no_text_of_a_failed_statement_is_logged(planned: PostgresqlServer, tmp_path: Path) -> None:
    planned.run_file(ROLES)
    database = RetrievalDatabase(planned, tmp_path)
    log = log_after_failures(planned, database)
    assert "database system is ready" in log
    assert SECRET not in log
    assert "STATEMENT" not in log
    # Errors of others are logged, without their statements.
    with pytest.raises(AssertionError, match="division by zero"):
        database.psql(f"SELECT 1 / 0, '{SECRET}'")
    log = (planned.folder / "log").read_text()
    assert "ERROR:  division by zero" in log
    assert SECRET not in log
    assert postgresql.observed(planned.psql(postgresql.QUERY, database="sovctl_retrieval"), {}) | {
        "tables_without_forced_rls": []
    } == {
        "settings": {},
        "pgvector": "0.8.0",
        "roles": {"sovctl": list(postgresql.ATTRIBUTES), **postgresql.EXPECTED_ROLES},
        "role_settings": postgresql.ROLE_SETTINGS,
        "memberships": 0,
        "tables_without_forced_rls": [],
    }


def test_the_default_settings_log_it(postgresql: PostgresqlServer, tmp_path: Path) -> None:
    require_pgvector()
    assert SECRET in log_after_failures(postgresql, RetrievalDatabase(postgresql, tmp_path))
