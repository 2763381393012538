from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from postgresql_server import PostgresqlServer
from retrieval_database import RetrievalDatabase, require_pgvector


@pytest.fixture(scope="session")
def vector_server(request: pytest.FixtureRequest) -> PostgresqlServer:
    """The server of the session, which has pgvector."""
    require_pgvector()
    server: PostgresqlServer = request.getfixturevalue("postgresql")
    return server


@pytest.fixture
def database(vector_server: PostgresqlServer, tmp_path: Path) -> RetrievalDatabase:
    made = RetrievalDatabase(vector_server, tmp_path)
    assert asyncio.run(made.migrate())
    return made
