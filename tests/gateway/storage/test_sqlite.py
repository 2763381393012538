"""Files that several processes make, open and write: the quotas', the hand-offs' and the vault's."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
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
    with closing(sqlite3.connect(path)) as reader:
        assert reader.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    other.close()
    if isinstance(file, SqliteStore):
        asyncio.run(file.close())
    else:
        file.close()
