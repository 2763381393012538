"""Files that several processes make, open and write: the quotas', the hand-offs' and the vault's."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sovctl.gateway.quota.sqlite_store import SqliteStore
from sovctl.gateway.vault.database.sqlite_file import SqliteFile


@pytest.mark.parametrize("opened", [SqliteStore.open, SqliteFile])
def test_whoever_opens_a_file_waits_while_another_process_makes_it(
    opened: Callable[[Path], Any], tmp_path: Path
) -> None:
    path = tmp_path / "new.db"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    making = threading.Timer(0.1, other.execute, ["COMMIT"])
    making.start()
    file = opened(path)
    making.join()
    assert sqlite3.connect(path).execute("PRAGMA journal_mode").fetchone() == ("wal",)
    del file
    other.close()
