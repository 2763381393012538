"""Homes for the vault's tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from vault_homes import Home, SqliteHome


@pytest.fixture(params=["sqlite"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    """A new place, in each of the stores."""
    assert request.param == "sqlite"
    return SqliteHome(tmp_path)


@pytest.fixture
def sqlite_home(tmp_path: Path) -> SqliteHome:
    """A new place for what only a file can do."""
    return SqliteHome(tmp_path)
