"""Where use is counted: a file, and a schema of a real PostgreSQL server."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from quota_places import Place, PostgresqlPlace, SqlitePlace


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def make_place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Place]:
    """Makes new places, of each kind."""

    def make() -> Place:
        folder = tmp_path_factory.mktemp("quota")
        if request.param == "sqlite":
            return SqlitePlace(folder)
        return PostgresqlPlace(request.getfixturevalue("postgresql"), folder)

    return make


@pytest.fixture
def place(make_place: Callable[[], Place]) -> Place:
    """A new place."""
    return make_place()
