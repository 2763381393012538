"""Pruned entries lose their content only: roots, proofs and earlier checkpoints verify, no change is hidden."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sovctl.compliance.ledger.checkpoint import Checkpoint
from sovctl.compliance.ledger.pruning import prune, prune_older
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.ledger.verify import verify_ledger
from sovctl.compliance.signing import SigningKey
from sovctl.compliance.tlog.proof_file import parse_proof, proof_text
from sovctl.support.errors import InputError

ORIGIN = "sovctl.site/test"
KEY = SigningKey.generate()
DAY_S = 86_400


def opened(directory: Path) -> Ledger:
    return Ledger.open(directory, origin=ORIGIN, key=KEY)


def record(number: int) -> dict[str, object]:
    time = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number)
    return {"type": "event", "time": f"{time:%Y-%m-%dT%H:%M:%SZ}", "text": "x" * 400}


def grown(directory: Path, count: int = 300) -> tuple[Checkpoint, str]:
    """A log with an early checkpoint, and a proof of an early entry."""
    with opened(directory) as ledger:
        ledger.append([record(number) for number in range(10)])
        early = ledger.checkpoint()
        ledger.append([record(number) for number in range(10, count)])
    reader = LedgerReader(directory)
    return early, proof_text(reader, next(reader.entries(start=3)))


def pruned(directory: Path, size: int) -> None:
    with opened(directory) as ledger:
        assert prune(ledger, size, reason={"retention_days": 365}) == size


def test_old_proofs_and_checkpoints_verify_after_pruning(tmp_path: Path) -> None:
    early, proof = grown(tmp_path)
    pruned(tmp_path, 270)
    parse_proof(proof).verify(KEY.public)
    found = verify_ledger(tmp_path, key=(ORIGIN, KEY.public), kept=[early])
    assert (found.findings, found.witnessed_size, found.entries) == ((), 10, 301)
    assert "first 270 entries was pruned" in " ".join(found.notes)


def test_the_content_is_gone_and_its_space_is_released(tmp_path: Path) -> None:
    grown(tmp_path)
    before = (tmp_path / "entries").stat()
    pruned(tmp_path, 270)
    after = (tmp_path / "entries").stat()
    assert (tmp_path / "entries").read_bytes()[: 270 * 400].strip(b"\0") == b""
    assert after.st_size >= before.st_size
    assert after.st_blocks < before.st_blocks


def test_reads_appends_and_recovers_after_pruning(tmp_path: Path) -> None:
    grown(tmp_path)
    pruned(tmp_path, 270)
    assert next(LedgerReader(tmp_path).entries()).leaf_index == 270
    assert next(LedgerReader(tmp_path).entries(start=12)).leaf_index == 270
    assert next(LedgerReader(tmp_path).entries(start=280)).leaf_index == 280
    (tmp_path / "level-1").unlink()
    with opened(tmp_path) as ledger:
        ledger.append([record(0)])
        assert len(ledger.inclusion_proof(2)) > 5
    assert verify_ledger(tmp_path).findings == ()


def test_the_record_states_size_root_and_reason(tmp_path: Path) -> None:
    early, _ = grown(tmp_path)
    pruned(tmp_path, 10)
    *_, last = LedgerReader(tmp_path).entries()
    assert last.record["type"] == "pruned"
    assert (last.record["size"], last.record["root"]) == (10, early.root.hex())
    assert last.record["retention_days"] == 365


def test_entries_removed_without_a_record_are_a_finding(tmp_path: Path) -> None:
    grown(tmp_path)
    pruned(tmp_path, 100)
    value = json.loads((tmp_path / "pruned").read_text())
    with opened(tmp_path) as ledger:
        later = ledger.end_of(200)
    (tmp_path / "pruned").write_text(json.dumps(value | {"size": 200, "end": later}))
    [finding] = verify_ledger(tmp_path).findings
    assert (finding.kind, finding.first_index, finding.last_index) == ("missing-entries", 0, 199)


@pytest.mark.parametrize(
    "content", ["", "[]", '{"size": -1, "end": 3}', '{"size": 10, "end": 7}', '{"size": 1e9, "end": 1}']
)
def test_an_altered_file_is_a_finding(tmp_path: Path, content: str) -> None:
    grown(tmp_path)
    pruned(tmp_path, 100)
    (tmp_path / "pruned").write_text(content)
    assert verify_ledger(tmp_path).findings


def test_a_flipped_byte_after_the_pruned_part_is_located(tmp_path: Path) -> None:
    grown(tmp_path)
    pruned(tmp_path, 100)
    data = bytearray((tmp_path / "entries").read_bytes())
    with opened(tmp_path) as ledger:
        data[ledger.end_of(150) + 30] ^= 1
    (tmp_path / "entries").write_bytes(data)
    [finding] = verify_ledger(tmp_path).findings
    assert (finding.kind, finding.first_index) == ("altered", 150)


def test_prunes_whole_tiles_that_are_older_than_the_retention_and_once(tmp_path: Path) -> None:
    grown(tmp_path, 600)
    now_s = datetime(2026, 1, 20, tzinfo=UTC).timestamp()
    with opened(tmp_path) as ledger:
        assert prune_older(ledger, days=8, now_s=now_s) == 256  # 264 entries are older
        assert prune_older(ledger, days=8, now_s=now_s) == 0
        assert prune_older(ledger, days=8, now_s=now_s + 11 * DAY_S) == 256
    assert verify_ledger(tmp_path).findings == ()


def test_keeps_at_least_one_signed_entry(tmp_path: Path) -> None:
    grown(tmp_path, 20)
    with opened(tmp_path) as ledger, pytest.raises(InputError, match="expected to keep"):
        prune(ledger, 20, reason={})
