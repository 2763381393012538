"""Firmware that waits for a reboot or a power cycle, from a real database in the format of fwupd."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from sovctl.engine.facts.hardware.firmware import COMMANDS, WrittenFirmware, parse_history
from sovctl.engine.facts.unreadable import Unreadable

ROWS = [
    ["BMC", 4, 131072 | 256, 1_763_700_000],
    ["ConnectX-7", 4, 256, 1_763_700_001],
    ["Disk", 2, 256, 1_763_700_002],
    ["PSU", 3, 131072, 1_763_700_003],
]


def test_only_firmware_that_needs_a_reboot_is_pending() -> None:
    assert parse_history(json.dumps(ROWS)) == (
        WrittenFirmware("BMC", needs_power_cycle=True, written_s=1_763_700_000),
        WrittenFirmware("ConnectX-7", needs_power_cycle=False, written_s=1_763_700_001),
    )


@pytest.mark.parametrize("text", ["", "null", "{}x", "[[1]]", '[["BMC", "x", 0, 0]]', '[["BMC", 4, null, 0]]'])
def test_another_format_is_an_error(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_history(text)


def test_the_program_reads_the_database_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "pending.db"
    words = [word.replace("/var/lib/fwupd/pending.db", str(path)) for word in COMMANDS["firmware"][1:]]
    assert _run(words) == []
    with sqlite3.connect(path) as database:
        columns = "device_id TEXT PRIMARY KEY, display_name TEXT, update_state INT, flags INT, device_modified INT"
        database.execute(f"CREATE TABLE history ({columns})")
        database.executemany("INSERT INTO history VALUES (?, ?, ?, ?, ?)", [[row[0], *row] for row in ROWS])
    database.close()
    before = path.read_bytes()
    assert _run(words) == ROWS
    assert path.read_bytes() == before


def test_a_database_that_is_not_understood_fails(tmp_path: Path) -> None:
    path = tmp_path / "pending.db"
    path.write_text("not a database, and longer than its header of one hundred bytes" * 4)
    words = [word.replace("/var/lib/fwupd/pending.db", str(path)) for word in COMMANDS["firmware"][1:]]
    assert subprocess.run([sys.executable, *words], capture_output=True, check=False).returncode != 0


def _run(words: list[str]) -> object:
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)
