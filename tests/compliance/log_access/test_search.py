"""Searches select by type, node, id, digest and time; each access is an entry of the same ledger."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.log_access import access, proofs
from sovctl.compliance.log_access.search import parse_time, query
from sovctl.compliance.signing import load_or_create
from sovctl.support.errors import InputError

ORIGIN = "sovctl.site/test"
DIGEST = "ab" * 32
RECORDS = [
    {"type": "node-event", "time": "2026-11-01T10:00:00Z", "node": "gpu-1"},
    {"type": "evidence", "target": "gpu-1", "run_id": "r1"},
    {"type": "gateway.request", "time": "2026-11-02T10:00:00.123Z", "id": "q1", "conversation": DIGEST},
    {"type": "gateway.answer", "time": "2026-11-02T10:00:01.000Z", "id": "q1", "nested": {"list": [DIGEST]}},
    {"type": "node-event", "time": "2026-11-03T10:00:00Z", "node": "gpu-2"},
]


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    with Ledger.open(tmp_path / "ledger", origin=ORIGIN, key=load_or_create(tmp_path / "keys" / "ledger.key")) as log:
        log.append(RECORDS)
    return tmp_path / "ledger"


@pytest.mark.parametrize(
    ("conditions", "found"),
    [
        ({}, [0, 1, 2, 3, 4]),
        ({"types": ["gateway.*"]}, [2, 3]),
        ({"types": ["evidence", "node-event"]}, [0, 1, 4]),
        ({"node": "gpu-1"}, [0, 1]),
        ({"id": "q1"}, [2, 3]),
        ({"id": "r1"}, [1]),
        ({"commitment": DIGEST}, [2, 3]),
        ({"since": "2026-11-02"}, [2, 3, 4]),
        ({"until": "2026-11-02"}, [0, 1]),
        ({"since": "2026-11-02T10:00:01Z", "until": "2026-11-03T10:00:00Z"}, [3]),
        ({"types": ["node-event"], "node": "gpu-2"}, [4]),
    ],
)
def test_selects_the_entries_that_meet_all_conditions(
    ledger: Path, conditions: dict[str, str], found: list[int]
) -> None:
    times = {name: parse_time(text, where="x") for name, text in conditions.items() if name in ("since", "until")}
    wanted = query(**(conditions | times))  # type: ignore[arg-type]
    assert [entry.leaf_index for entry in access.search(ledger, wanted, limit=10)] == found


@pytest.mark.parametrize(
    "conditions", [{"commitment": "Anna Kowalska"}, {"node": "Anna Kowalska"}, {"id": "a b"}, {"types": ["A"]}]
)
def test_refuses_free_text_because_the_query_is_recorded(conditions: dict[str, str]) -> None:
    with pytest.raises(InputError) as refused:
        query(**conditions)  # type: ignore[arg-type]
    assert "Kowalska" not in str(refused.value)


def test_a_limit_keeps_the_newest(ledger: Path) -> None:
    assert [each.leaf_index for each in access.search(ledger, query(), limit=2)] == [3, 4]
    assert [each.leaf_index for each in access.newest(ledger, 2)] == [3, 4]
    assert access.newest(ledger, 0) == []


def test_an_access_is_an_entry_with_operator_and_query(ledger: Path) -> None:
    assert access.record_access(ledger, "search", query(id="q1").as_json())
    *_, last = LedgerReader(ledger).entries()
    assert last.record["type"] == "audit-read"
    assert last.record["query"] == {"id": "q1"}
    assert last.record["operator"]


def test_follows_new_entries(ledger: Path) -> None:
    def grow(_seconds: float) -> None:
        with Ledger.open(ledger, origin=ORIGIN, key=load_or_create(ledger.parent / "keys" / "ledger.key")) as log:
            log.append([{"type": "later"}])

    found = list(islice(access.follow(ledger, 4, wait=grow), 3))
    assert [each.leaf_index for each in found] == [4, 5, 6]


def test_proofs_are_named_by_index_or_id(ledger: Path, tmp_path: Path) -> None:
    by_id = proofs.write(ledger, access.entries_of(ledger, "q1"), tmp_path / "out")
    assert [each.path.name for each in by_id] == ["entry-2.tlog-proof", "entry-3.tlog-proof"]
    assert [each.type for each in by_id] == ["gateway.request", "gateway.answer"]
    assert access.entries_of(ledger, "4")[0].leaf_index == 4
    for unknown in ("5", "absent", "9" * 30):
        with pytest.raises(InputError):
            access.entries_of(ledger, unknown)
