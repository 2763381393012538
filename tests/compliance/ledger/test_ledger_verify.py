"""Verification: every flipped byte and every cut is found and named, and its limits are said out loud."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from examples import examples
from sovctl.compliance.ledger.checkpoint import Checkpoint, parse_checkpoint, sign_checkpoint
from sovctl.compliance.ledger.findings import FindingKind, LedgerVerification
from sovctl.compliance.ledger.format import frame, read_entries
from sovctl.compliance.ledger.merkle import leaf_hash
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.record import encode_record
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.ledger.verify import verify_ledger
from sovctl.compliance.signing import SigningKey, load_or_create
from sovctl.support.errors import SovctlError

ORIGIN = "sovctl.site/test"
KEY = SigningKey.generate()
GIVEN = (ORIGIN, KEY.public)
SIZE = 600  # two full rows of 256 and a rest


def write(directory: Path, count: int, *, key: SigningKey = KEY, salt: str = "") -> Checkpoint:
    with Ledger.open(directory, origin=ORIGIN, key=key) as ledger:
        ledger.append([{"number": ledger.size + number, "salt": salt, "type": "test"} for number in range(count)])
        return ledger.checkpoint()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("whole") / "ledger"
    write(directory, SIZE)
    return directory


@pytest.fixture
def ledger(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "ledger"))


def frames(directory: Path) -> list[bytes]:
    return [frame(entry.data) for entry in read_entries(directory / "entries")]


def only(result: LedgerVerification) -> Any:
    assert len(result.findings) == 1, result.findings
    return result.findings[0]


def test_a_whole_ledger_is_whole_and_says_what_it_cannot_prove(ledger: Path) -> None:
    result = verify_ledger(ledger, key=GIVEN)
    assert result.is_whole
    assert (result.entries, result.signed_size, result.unsigned_tail) == (SIZE, SIZE, 0)
    assert result.root == LedgerReader(ledger).checkpoint.root.hex()
    assert any("without a checkpoint kept outside the site" in limit for limit in result.limits())
    assert any("never written" in limit for limit in result.limits())
    assert any("not who signed" in limit for limit in verify_ledger(ledger).limits())
    assert not any("not who signed" in limit for limit in result.limits())


def test_an_empty_ledger_is_whole(tmp_path: Path) -> None:
    kept = write(tmp_path, 0)
    assert verify_ledger(tmp_path, key=GIVEN, kept=[kept]).is_whole


def test_counts_what_nobody_outside_has_seen(ledger: Path) -> None:
    kept = LedgerReader(ledger).checkpoint
    write(ledger, 5)
    result = verify_ledger(ledger, key=GIVEN, kept=[kept])
    assert result.is_whole
    assert (result.witnessed_size, result.unwitnessed_tail) == (SIZE, 5)
    assert any("last 5 entries" in limit for limit in result.limits())


@given(st.data())
@examples(150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_flipped_bit_of_any_file_is_found(whole: Path, data: st.DataObject) -> None:
    files = ["entries", "index", "level-1", "checkpoint", "log.vkey"]
    path = whole / data.draw(st.sampled_from(files))
    kept = path.read_bytes()
    at, bit = data.draw(st.integers(0, len(kept) - 1)), data.draw(st.integers(0, 7))
    changed = bytearray(kept)
    changed[at] ^= 1 << bit
    try:
        path.write_bytes(changed)
        assert not verify_ledger(whole).is_whole
        assert not verify_ledger(whole, key=GIVEN).is_whole
    finally:
        path.write_bytes(kept)


@given(st.data())
@examples(80, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_cut_of_any_file_is_found(whole: Path, data: st.DataObject) -> None:
    path = whole / data.draw(st.sampled_from(["entries", "index", "level-1", "checkpoint", "log.vkey"]))
    kept = path.read_bytes()
    start = data.draw(st.integers(0, len(kept) - 1))
    stop = data.draw(st.integers(start + 1, len(kept)))
    try:
        path.write_bytes(kept[:start] + kept[stop:])
        assert not verify_ledger(whole, key=GIVEN).is_whole
    finally:
        path.write_bytes(kept)


@pytest.mark.parametrize("index", [0, 1, 255, 256, 599])
def test_names_the_entry_that_was_altered(ledger: Path, index: int) -> None:
    parts = frames(ledger)
    parts[index] = frame(encode_record({"number": index, "salt": "another", "type": "test"}))
    (ledger / "entries").write_bytes(b"".join(parts))
    finding = only(verify_ledger(ledger, key=GIVEN))
    assert (finding.kind, finding.first_index) == (FindingKind.ALTERED, index)


@pytest.mark.parametrize(("first", "last"), [(0, 0), (0, 299), (1, 1), (254, 257), (100, 598)])
def test_names_the_entries_that_are_missing(ledger: Path, first: int, last: int) -> None:
    parts = frames(ledger)
    (ledger / "entries").write_bytes(b"".join(parts[:first] + parts[last + 1 :]))
    finding = only(verify_ledger(ledger, key=GIVEN))
    assert (finding.kind, finding.first_index, finding.last_index) == (FindingKind.MISSING_ENTRIES, first, last)


@pytest.mark.parametrize("left", [0, 1, 256, 599])
def test_names_the_tail_that_was_cut(ledger: Path, left: int) -> None:
    (ledger / "entries").write_bytes(b"".join(frames(ledger)[:left]))
    finding = only(verify_ledger(ledger, key=GIVEN))
    assert (finding.kind, finding.first_index, finding.last_index) == (FindingKind.CUT_TAIL, left, SIZE - 1)


def test_finds_damage_without_an_index_to_locate_it(ledger: Path) -> None:
    parts = frames(ledger)
    parts[7] = frame(b"{}")
    (ledger / "entries").write_bytes(b"".join(parts))
    (ledger / "index").unlink()
    finding = only(verify_ledger(ledger, key=GIVEN))
    assert (finding.kind, finding.first_index, finding.last_index) == (FindingKind.ALTERED, 0, SIZE - 1)


def test_finds_that_the_whole_log_was_deleted(ledger: Path) -> None:
    kept = LedgerReader(ledger).checkpoint
    shutil.rmtree(ledger)
    kinds = {finding.kind for finding in verify_ledger(ledger, key=GIVEN, kept=[kept]).findings}
    assert kinds == {FindingKind.MISSING_LOG, FindingKind.CUT_TAIL}


def test_finds_that_the_log_was_deleted_and_begun_again(ledger: Path) -> None:
    kept = LedgerReader(ledger).checkpoint
    shutil.rmtree(ledger)
    write(ledger, 10, salt="new")
    finding = only(verify_ledger(ledger, key=GIVEN, kept=[kept]))
    assert (finding.kind, finding.first_index, finding.last_index) == (FindingKind.ROLLED_BACK, 10, SIZE - 1)


def test_finds_that_an_old_copy_was_restored(ledger: Path, tmp_path: Path) -> None:
    old = Path(shutil.copytree(ledger, tmp_path / "copy"))
    kept = write(ledger, 9)
    assert verify_ledger(old, key=GIVEN).is_whole  # alone it cannot tell, and says so
    finding = only(verify_ledger(old, key=GIVEN, kept=[kept]))
    assert (finding.kind, finding.first_index, finding.last_index) == (FindingKind.ROLLED_BACK, SIZE, SIZE + 8)


def test_finds_a_fork_by_somebody_who_holds_the_key(ledger: Path, tmp_path: Path) -> None:
    fork = Path(shutil.copytree(ledger, tmp_path / "fork"))
    early = LedgerReader(ledger).checkpoint
    kept = write(ledger, 20)
    write(fork, 30, salt="another story")
    finding = only(verify_ledger(fork, key=GIVEN, kept=[kept, early]))
    assert (finding.kind, finding.first_index) == (FindingKind.FORKED, SIZE)


def test_finds_a_checkpoint_signed_by_another_key(ledger: Path) -> None:
    own = LedgerReader(ledger).checkpoint
    other = SigningKey.generate()
    (ledger / "checkpoint").write_text(sign_checkpoint(own.origin, own.size, own.root, other).text)
    assert only(verify_ledger(ledger)).kind == FindingKind.BAD_SIGNATURE
    (ledger / "log.vkey").write_text(other.public.vkey(ORIGIN) + "\n")  # the thief brings his own key along
    assert verify_ledger(ledger).is_whole
    kinds = {finding.kind for finding in verify_ledger(ledger, key=GIVEN).findings}
    assert kinds == {FindingKind.BAD_SIGNATURE, FindingKind.BAD_KEY}


def test_finds_an_unsigned_checkpoint(ledger: Path) -> None:
    text = (ledger / "checkpoint").read_text()
    (ledger / "checkpoint").write_text(text.split("—")[0])
    assert only(verify_ledger(ledger, key=GIVEN)).kind == FindingKind.BAD_CHECKPOINT


def test_a_kept_checkpoint_that_the_log_never_signed_is_a_finding(ledger: Path) -> None:
    own = LedgerReader(ledger).checkpoint
    forged = sign_checkpoint(ORIGIN, own.size, leaf_hash(b"wish"), SigningKey.generate())
    other = sign_checkpoint("sovctl.site/other", 1, own.root, KEY)
    kinds = [finding.kind for finding in verify_ledger(ledger, key=GIVEN, kept=[forged, other]).findings]
    assert kinds == [FindingKind.BAD_SIGNATURE, FindingKind.BAD_SIGNATURE]


def test_a_writer_at_work_is_no_damage(tmp_path: Path) -> None:
    with Ledger.open(tmp_path, origin=ORIGIN, key=KEY) as ledger:
        ledger.append([{"number": 1}])
        result = verify_ledger(tmp_path, key=GIVEN)
        assert result.is_whole
        assert (result.entries, result.unsigned_tail) == (1, 1)
        assert "and not signed" in result.notes[0]


def test_needs_no_more_memory_for_a_longer_log(tmp_path: Path) -> None:
    import tracemalloc

    write(tmp_path, 20_000, key=load_or_create(tmp_path / "key"))
    tracemalloc.start()
    try:
        assert verify_ledger(tmp_path).is_whole
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < 4 << 20  # one read buffer and one block of index rows; the log itself is 1 MB of records


def test_says_what_is_wrong_with_a_kept_file_that_is_no_checkpoint() -> None:
    with pytest.raises(SovctlError, match=r"kept\.txt: expected a signed note"):
        parse_checkpoint(b"hello", where="kept.txt")
