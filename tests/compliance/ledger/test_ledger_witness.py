"""A witness: signs what extends the last checkpoint, refuses everything else, and its memory cannot be rolled back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.compliance.audit.inputs import read_key
from sovctl.compliance.ledger.checkpoint import Checkpoint, parse_checkpoint, sign_checkpoint
from sovctl.compliance.ledger.errors import WitnessRefused
from sovctl.compliance.ledger.merkle import leaf_hash
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.ledger.verify import verify_ledger
from sovctl.compliance.ledger.witness import cosign, cosigned_at, parse_request, request
from sovctl.compliance.ledger.witness_memory import WitnessMemory
from sovctl.compliance.signing import BadSignature, SigningKey, parse_vkey
from sovctl.compliance.verify_key import COSIGNATURE
from sovctl.support.errors import InputError, SovctlError

ORIGIN = "sovctl.site/test"
LOG_KEY, WITNESS_KEY = SigningKey.generate(), SigningKey.generate()


def grow(directory: Path, count: int, *, story: str = "") -> None:
    with Ledger.open(directory, origin=ORIGIN, key=LOG_KEY) as ledger:
        ledger.append([{"number": ledger.size + number, "story": story} for number in range(count)])


def signed(text: str, last: Checkpoint | None) -> Checkpoint:
    return cosign(
        parse_request(text),
        last=last,
        log_key=LOG_KEY.public,
        name="auditor.example",
        key=WITNESS_KEY,
        now_s=1_800_000_000,
    )


def asked(directory: Path, since: int) -> str:
    return request(LedgerReader(directory), old_size=since)


def test_signs_a_log_that_grows(tmp_path: Path) -> None:
    last = None
    for count in (3, 0, 1, 300, 5):
        grow(tmp_path, count)
        last = signed(asked(tmp_path, last.size if last else 0), last)
        last.verify(LOG_KEY.public)
        assert cosigned_at(last, "auditor.example", WITNESS_KEY.public) == 1_800_000_000
    assert last is not None
    assert verify_ledger(tmp_path, key=(ORIGIN, LOG_KEY.public), kept=[last]).witnessed_size == 309


def test_the_cosignature_is_the_standards(tmp_path: Path) -> None:
    grow(tmp_path, 3)
    cosigned = signed(asked(tmp_path, 0), None)
    assert parse_checkpoint(cosigned.text) == cosigned
    line = cosigned.note.signatures[1]
    message = f"cosignature/v1\ntime 1800000000\n{cosigned.note.text}".encode()
    WITNESS_KEY.verify(message, line.signature[8:])
    name, key = parse_vkey(WITNESS_KEY.public.vkey("auditor.example", kind=COSIGNATURE), kind=COSIGNATURE)
    assert line.key_id == key.note_key_id(name, kind=COSIGNATURE)


def test_refuses_a_shorter_log(tmp_path: Path) -> None:
    grow(tmp_path / "long", 9)
    last = signed(asked(tmp_path / "long", 0), None)
    grow(tmp_path / "short", 5)
    with pytest.raises(WitnessRefused, match="at least the 9 entries signed before, got 5"):
        signed(asked(tmp_path / "short", 0), last)


def test_refuses_another_story(tmp_path: Path) -> None:
    grow(tmp_path / "one", 9)
    last = signed(asked(tmp_path / "one", 0), None)
    grow(tmp_path / "two", 12, story="another")
    with pytest.raises(WitnessRefused, match="extends the 9 entries signed before"):
        signed(asked(tmp_path / "two", 9), last)


def test_refuses_the_same_size_with_another_root(tmp_path: Path) -> None:
    grow(tmp_path, 9)
    last = signed(asked(tmp_path, 0), None)
    other = sign_checkpoint(ORIGIN, 9, leaf_hash(b"another"), LOG_KEY)
    with pytest.raises(WitnessRefused):
        signed("old 9\n\n" + other.text, last)


def test_refuses_a_request_from_another_size_and_says_which(tmp_path: Path) -> None:
    grow(tmp_path, 9)
    last = signed(asked(tmp_path, 0), None)
    grow(tmp_path, 1)
    with pytest.raises(WitnessRefused) as caught:
        signed(asked(tmp_path, 4), last)
    assert "--old-size 9" in caught.value.hint


def test_refuses_what_the_log_did_not_sign(tmp_path: Path) -> None:
    forged = sign_checkpoint(ORIGIN, 3, leaf_hash(b"x"), SigningKey.generate())
    with pytest.raises(BadSignature):
        signed("old 0\n\n" + forged.text, None)


def test_no_cosignature_is_taken_from_another_witness(tmp_path: Path) -> None:
    grow(tmp_path, 3)
    cosigned = signed(asked(tmp_path, 0), None)
    with pytest.raises(BadSignature):
        cosigned_at(cosigned, "auditor.example", LOG_KEY.public)
    with pytest.raises(BadSignature):
        cosigned_at(LedgerReader(tmp_path).checkpoint, "auditor.example", WITNESS_KEY.public)


@given(st.text(max_size=200))
def test_any_text_is_a_request_or_a_clear_refusal(text: str) -> None:
    with pytest.raises(InputError):
        parse_request(text)


def test_the_memory_learns_the_logs_key_once_and_never_goes_back(tmp_path: Path) -> None:
    log, ask = tmp_path / "log", tmp_path / "ask.txt"
    memory = WitnessMemory(tmp_path / "witness", name="auditor.example")
    grow(log, 4)
    ask.write_text(asked(log, 0))
    with pytest.raises(InputError, match="expected the public key"):
        memory.sign(ask)
    kept = memory.sign(ask, log_key=read_key(log / "log.vkey"))
    old = ask.read_text()
    grow(log, 4)
    ask.write_text(asked(log, 4))
    assert memory.sign(ask) == kept
    assert parse_checkpoint(kept.read_text()).size == 8
    ask.write_text(old)
    with pytest.raises(WitnessRefused):
        memory.sign(ask)
    with pytest.raises(WitnessRefused, match="the key of"):
        memory.sign(ask, log_key=(ORIGIN, WITNESS_KEY.public))
    assert parse_checkpoint(kept.read_text()).size == 8
    name, key = parse_vkey((tmp_path / "witness" / "witness.vkey").read_text(), kind=COSIGNATURE)
    assert cosigned_at(parse_checkpoint(kept.read_text()), name, key) > 1_700_000_000


def test_a_key_that_did_not_sign_the_first_request_is_not_remembered(tmp_path: Path) -> None:
    log, ask = tmp_path / "log", tmp_path / "ask.txt"
    memory = WitnessMemory(tmp_path / "witness", name="auditor.example")
    grow(log, 4)
    ask.write_text(asked(log, 0))
    with pytest.raises(BadSignature):
        memory.sign(ask, log_key=(ORIGIN, WITNESS_KEY.public))
    assert memory.sign(ask, log_key=read_key(log / "log.vkey")).exists()


def test_an_unreadable_request_is_an_error_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(SovctlError, match="absent"):
        WitnessMemory(tmp_path / "w", name="w").sign(tmp_path / "absent")
