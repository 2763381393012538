"""A proof of one entry: small, verified alone, and refused after any change."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.compliance.audit.entry_proof import audit_proof
from sovctl.compliance.ledger.checkpoint import parse_checkpoint
from sovctl.compliance.ledger.merkle import leaf_hash
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.signing import SigningKey
from sovctl.compliance.tlog.proof_file import BadProof, parse_proof, proof_text
from sovctl.compliance.verify_key import BadSignature
from sovctl.support.errors import InputError, SovctlError

ORIGIN = "sovctl.site/test"
KEY, OTHER = SigningKey.generate(), SigningKey.generate()
SECRET = "a-neighbour"


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("log")
    with Ledger.open(folder, origin=ORIGIN, key=KEY) as opened:
        opened.append([{"type": "event", "number": number, "float": 1e-9, "ü": SECRET} for number in range(1000)])
    return folder


def proof_of(ledger: Path, index: int) -> str:
    reader = LedgerReader(ledger)
    return proof_text(reader, next(reader.entries(start=index)))


@pytest.mark.parametrize("index", [0, 255, 256, 999])
def test_verifies_alone_and_is_small(ledger: Path, index: int) -> None:
    text = proof_of(ledger, index)
    proof = parse_proof(text)
    proof.verify(KEY.public)
    assert (proof.index, proof.checkpoint.size) == (index, 1000)
    assert len(text.encode()) < 2048
    assert leaf_hash(proof.record) == leaf_hash(next(LedgerReader(ledger).entries(start=index)).data)


def test_contains_no_other_entry(ledger: Path) -> None:
    proof = parse_proof(proof_of(ledger, 500))
    assert proof.record.count(SECRET.encode()) == 1
    assert b'"number":500' in proof.record


def test_another_key_is_refused(ledger: Path) -> None:
    with pytest.raises(BadSignature):
        parse_proof(proof_of(ledger, 5)).verify(OTHER.public)


def test_another_entry_is_refused(ledger: Path) -> None:
    one, other = proof_of(ledger, 5).split("\n"), proof_of(ledger, 6).split("\n")
    with pytest.raises(BadProof, match="expected entry 5"):
        parse_proof("\n".join([one[0], other[1], *one[2:]])).verify(KEY.public)


@given(data=st.data())
def test_any_changed_character_is_found(ledger: Path, data: st.DataObject) -> None:
    text = proof_of(ledger, 700)
    at = data.draw(st.integers(0, len(text) - 1))
    changed = text[:at] + data.draw(st.sampled_from('Aa0+/= \n{"')) + text[at + 1 :]
    if changed == text:
        return
    try:
        proof = parse_proof(changed)
        proof.verify(KEY.public)
    except SovctlError:
        return
    assert (proof.index, proof.record, proof.checkpoint.note.text) == (
        700,
        parse_proof(text).record,
        parse_proof(text).checkpoint.note.text,
    )


@pytest.mark.parametrize(
    "text",
    ["", "c2sp.org/tlog-proof@v1\n", "c2sp.org/tlog-proof@v1\nindex 01\n\n", "c2sp.org/tlog-proof@v1\nextra !\n\n"],
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_proof(text)


def test_deep_json_is_refused(ledger: Path) -> None:
    lines = proof_of(ledger, 3).split("\n")
    lines[1] = "extra " + base64.b64encode(b"[" * 100_000).decode()
    with pytest.raises(InputError, match="expected JSON"):
        parse_proof("\n".join(lines))


def test_a_kept_checkpoint_of_the_same_size_anchors(ledger: Path, tmp_path: Path) -> None:
    target = tmp_path / "entry-3.tlog-proof"
    target.write_text(proof_of(ledger, 3))
    key = (ORIGIN, KEY.public)
    assert audit_proof(target, key=key).verdict == "unproven"
    kept = parse_checkpoint((ledger / "checkpoint").read_bytes())
    assert audit_proof(target, key=key, kept=[kept]).verdict == "ok"
    assert audit_proof(target, key=(ORIGIN, OTHER.public)).verdict == "failed"
    assert audit_proof(target, key=("sovctl.site/other", KEY.public)).verdict == "failed"
    with pytest.raises(InputError, match="expected the public key"):
        audit_proof(target, key=None)
