from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from echo_upstream import EchoUpstream
from gateway_yaml import Pki
from pooling_server import pooling_server
from postgresql_server import PostgresqlServer
from retrieval_database import RetrievalDatabase, require_pgvector
from retrieval_process import ADMINISTRATOR, RetrievalService, document_body
from search_site import CARDS, MERGER, Site, add_groups


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


@pytest.fixture
def site(
    vector_server: PostgresqlServer,
    pki: Pki,
    cloud: EchoUpstream,
    write_config: Callable[[Path], Path],
    start_from: Callable[..., Any],
    tmp_path: Path,
) -> Iterator[Site]:
    """A gateway, a retrieval service and its database, with two documents."""
    with pooling_server() as pool:
        service = RetrievalService(RetrievalDatabase(vector_server, tmp_path), pool, pki, tmp_path)
        assert asyncio.run(service.database.migrate())
        config = write_config(tmp_path / "gateway")
        add_groups(config, service, pki, tmp_path)
        with service.running():
            for name, text, group in (("cards.md", CARDS, "staff"), ("board/minutes.md", MERGER, "board")):
                body = document_body(name, text, [group])
                assert service.request("POST", "/v1/documents", body, who=ADMINISTRATOR)[0] == 200
            yield Site(start_from(config, tmp_path / "log"), service, cloud)
