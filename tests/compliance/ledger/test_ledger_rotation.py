"""Rotation of the key: the old key signs the new one, verifiers follow the chain, the old one is refused after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sovctl.compliance.ledger.checkpoint import parse_checkpoint, sign_checkpoint
from sovctl.compliance.ledger.errors import LedgerDamaged, LedgerUnwritable, WitnessRefused
from sovctl.compliance.ledger.pruning import prune
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.rotate import rotate
from sovctl.compliance.ledger.rotation import parse_rotation
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.ledger.verify import verify_ledger
from sovctl.compliance.ledger.witness import request
from sovctl.compliance.ledger.witness_memory import WitnessMemory
from sovctl.compliance.signing import SigningKey, load, load_or_create
from sovctl.compliance.verify_key import BadSignature, VerifyKey
from sovctl.support.errors import InputError

ORIGIN = "sovctl.site/test"


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    load_or_create(tmp_path / "keys" / "ledger.key")
    return tmp_path / "keys" / "ledger.key"


@pytest.fixture
def log(tmp_path: Path, key_file: Path) -> Path:
    grow(tmp_path / "ledger", key_file)
    return tmp_path / "ledger"


def grow(log: Path, key_file: Path, count: int = 20) -> None:
    with Ledger.open(log, origin=ORIGIN, key=load(key_file)) as ledger:
        ledger.append([{"type": "event", "number": number} for number in range(count)])


def rotated(log: Path, key_file: Path, reason: str = "planned") -> dict[str, Any]:
    return rotate(log, key_file, reason=reason, operator="ops")


def findings(log: Path, key: VerifyKey, **more: Any) -> list[str]:
    return [f"{each.kind}: {each.message}" for each in verify_ledger(log, key=(ORIGIN, key), **more).findings]


def test_old_and_new_key_verify_the_log_and_all_its_checkpoints(log: Path, key_file: Path) -> None:
    old, kept = load(key_file).public, parse_checkpoint((log / "checkpoint").read_bytes())
    rotated(log, key_file)
    new = load(key_file).public
    grow(log, key_file)
    assert new != old
    for key in (old, new):
        found = verify_ledger(log, key=(ORIGIN, key), kept=[kept])
        assert (found.findings, found.witnessed_size, len(found.keys)) == ((), 20, 2)
    assert verify_ledger(log).findings == ()


def test_the_revoked_key_is_refused_after_the_rotation(log: Path, key_file: Path) -> None:
    old = load(key_file)
    rotated(log, key_file, "compromised")
    newest = LedgerReader(log).checkpoint
    forged = sign_checkpoint(ORIGIN, newest.size, newest.root, old)
    (log / "checkpoint").write_text(forged.text)
    assert any("bad-signature" in each for each in findings(log, old.public))
    (log / "log.vkey").write_text(old.public.vkey(ORIGIN) + "\n")
    with pytest.raises(InputError, match="another key"):
        Ledger.open(log, origin=ORIGIN, key=load(key_file))
    assert any("bad-key" in each for each in findings(log, load(key_file).public))


def test_a_checkpoint_of_the_new_key_before_the_rotation_is_refused(log: Path, key_file: Path) -> None:
    kept = parse_checkpoint((log / "checkpoint").read_bytes())
    rotated(log, key_file)
    early = sign_checkpoint(ORIGIN, kept.size, kept.root, load(key_file))
    assert any("bad-signature" in each for each in findings(log, load(key_file).public, kept=[early]))


def test_a_chain_of_rotations_is_followed_and_survives_pruning(log: Path, key_file: Path) -> None:
    keys = [load(key_file).public]
    for _ in range(3):
        rotated(log, key_file)
        keys.append(load(key_file).public)
        grow(log, key_file)
    with Ledger.open(log, origin=ORIGIN, key=load(key_file)) as ledger:
        prune(ledger, 50, reason={"retention_days": 365})
    for key in keys:
        assert findings(log, key) == []
    assert any("bad-key" in each for each in findings(log, SigningKey.generate().public))
    (log / "rotations").unlink()
    assert findings(log, keys[0]) != []


@pytest.mark.parametrize("field", ["new_vkey", "old_vkey", "index", "origin", "old_signature", "new_signature"])
def test_an_altered_record_is_refused(log: Path, key_file: Path, field: str) -> None:
    record = rotated(log, key_file)
    other = {"index": 3, "origin": "sovctl.site/other", "new_vkey": SigningKey.generate().public.vkey(ORIGIN)}
    other["old_vkey"] = other["new_vkey"]
    changed = other.get(field, record["old_signature" if field == "new_signature" else "new_signature"])
    with pytest.raises((BadSignature, InputError)):
        parse_rotation(record | {field: changed})


@pytest.mark.parametrize("step", ["key", "entry", "checkpoint", "vkey"])
def test_an_interrupted_rotation_is_completed_and_the_old_key_signs_nothing(
    log: Path, key_file: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sovctl.compliance.ledger.store as store

    write, old = store.write_atomic, load(key_file)

    def crash(path: Path, *rest: Any, **more: Any) -> None:
        if (path.name, step) in (("checkpoint", "entry"), ("log.vkey", "checkpoint")):
            raise OSError(5, "input/output error")
        write(path, *rest, **more)

    if step == "key":
        load_or_create(key_file.with_name("ledger.key.new"))
    elif step == "vkey":
        rotated(log, key_file)
        key_file.rename(key_file.with_name("ledger.key.new"))
        key_file.write_bytes(old.pem())
        key_file.chmod(0o600)
    else:
        monkeypatch.setattr(store, "write_atomic", crash)
        with pytest.raises((OSError, LedgerUnwritable)):
            rotated(log, key_file)
        monkeypatch.undo()
        with pytest.raises((LedgerDamaged, InputError, BadSignature)):
            Ledger.open(log, origin=ORIGIN, key=old)
    rotated(log, key_file)
    assert load(key_file).public != old.public
    assert not key_file.with_name("ledger.key.new").exists()
    grow(log, key_file)
    found = verify_ledger(log, key=(ORIGIN, old.public))
    assert (found.findings, len(found.keys)) == ((), 2)


def test_a_witness_follows_a_rotation_that_it_is_shown(log: Path, key_file: Path, tmp_path: Path) -> None:
    memory, old = WitnessMemory(tmp_path / "witness", name="auditor"), load(key_file).public
    asked = tmp_path / "request"
    asked.write_text(request(LedgerReader(log), old_size=0))
    memory.sign(asked, log_key=(ORIGIN, old))
    record = rotated(log, key_file)
    asked.write_text(request(LedgerReader(log), old_size=20))
    with pytest.raises(BadSignature):
        memory.sign(asked)
    with pytest.raises(WitnessRefused, match="differs"):
        memory.sign(asked, log_key=(ORIGIN, load(key_file).public))
    assert parse_checkpoint(memory.sign(asked, rotations=[record]).read_bytes()).size == 21
    with pytest.raises(WitnessRefused, match="does not begin with the known key"):
        memory.sign(asked, rotations=[record])


def test_an_unknown_reason_is_refused(log: Path, key_file: Path) -> None:
    with pytest.raises(InputError, match="planned, compromised"):
        rotated(log, key_file, "Anna left")
