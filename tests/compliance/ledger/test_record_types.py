"""The documented types of records are those that sovctl writes."""

from __future__ import annotations

import re
from pathlib import Path

from sovctl.compliance.ledger import pending_files, state_files
from sovctl.compliance.ledger.record_types import RECORD_TYPES, complete

ROOT = Path(__file__).parents[3]


def test_the_tables_of_the_documentation_have_all_types() -> None:
    rows = re.findall(r"^\| `([a-z.-]+)` \|", (ROOT / "docs" / "ledger-records.md").read_text(), re.MULTILINE)
    assert sorted(set(rows) - {"type"}) == sorted(RECORD_TYPES)


def test_types_of_left_records_and_of_files_are_known() -> None:
    assert set(state_files.TYPES) < pending_files.TYPES < set(RECORD_TYPES)


def test_each_type_is_written_somewhere() -> None:
    sources = [path for top in ("compliance", "engine", "gateway") for path in (ROOT / top).rglob("*.py")]
    texts = [path.read_text() for path in sources if path.name != "record_types.py"]
    assert [kind for kind in RECORD_TYPES if not any(f'"{kind}"' in text for text in texts)] == []


def test_completes_types() -> None:
    assert [name for name, _ in complete("gateway.h")] == ["gateway.handoff", "gateway.heartbeat"]
