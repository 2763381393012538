"""Signed notes and checkpoints: the standard's own examples, and no second spelling of anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.compliance.ledger.checkpoint import parse_checkpoint, sign_checkpoint
from sovctl.compliance.ledger.merkle import leaf_hash
from sovctl.compliance.ledger.note import parse_note, sign_note
from sovctl.compliance.signing import BadSignature, SigningKey, parse_vkey
from sovctl.support.errors import InputError, SovctlError

# C2SP signed-note v1.0.0, "Example".
VKEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
NOTE = (
    "This is an example message.\n\n"
    "— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n"
)
# golang.org/x/mod/sumdb/note, package documentation: key, text and signature.
GO_VKEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
GO_NOTE = (
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n"
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)

KEY = SigningKey.generate()
ORIGIN = "sovctl.site/lab"
CHECKPOINT = sign_checkpoint(ORIGIN, 20_852_163, leaf_hash(b"root"), KEY)


@pytest.mark.parametrize(("vkey", "text"), [(VKEY, NOTE), (GO_VKEY, GO_NOTE)])
def test_verifies_the_notes_of_the_standard(vkey: str, text: str) -> None:
    note = parse_note(text)
    note.verify(*parse_vkey(vkey))
    assert str(note) == text


def test_refuses_the_note_of_another_key() -> None:
    with pytest.raises(BadSignature, match="expected a signature by PeterNeumann"):
        parse_note(NOTE).verify(*parse_vkey(GO_VKEY))


def test_a_note_may_hold_empty_lines_and_other_peoples_signatures() -> None:
    note = sign_note("one\n\ntwo\n", "example.com/log", KEY)
    both = parse_note(str(note) + NOTE.split("\n\n")[1])
    assert both.text == "one\n\ntwo\n"
    both.verify("example.com/log", KEY.public)
    assert len(both.signatures) == 2


@pytest.mark.parametrize("text", ["no newline", "tab\t\n", "null\0\n", ""])
def test_refuses_to_sign_what_is_no_note(text: str) -> None:
    with pytest.raises(InputError):
        sign_note(text, "example.com/log", KEY)


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\u00a0b", "a\n"])
def test_refuses_a_name_that_a_note_cannot_carry(name: str) -> None:
    with pytest.raises(InputError, match="expected a key name"):
        sign_note("text\n", name, KEY)


@given(st.binary(max_size=400))
def test_never_fails_in_another_way_on_any_bytes(data: bytes) -> None:
    try:
        parse_checkpoint(data)
    except InputError:
        return
    raise AssertionError("random bytes were taken for a checkpoint")


def test_a_checkpoint_survives_its_text() -> None:
    again = parse_checkpoint(CHECKPOINT.text)
    again.verify(KEY.public)
    assert again == CHECKPOINT
    assert CHECKPOINT.text.splitlines()[:2] == [ORIGIN, "20852163"]


@given(st.integers(0, len(CHECKPOINT.text.encode()) - 1), st.integers(0, 7))
def test_any_flipped_bit_of_a_checkpoint_is_found(at: int, bit: int) -> None:
    data = bytearray(CHECKPOINT.text.encode())
    data[at] ^= 1 << bit
    with pytest.raises(SovctlError):
        parse_checkpoint(bytes(data)).verify(KEY.public)


@given(st.integers(0, len(CHECKPOINT.text.encode()) - 1))
def test_any_cut_of_a_checkpoint_is_found(length: int) -> None:
    with pytest.raises(SovctlError):
        parse_checkpoint(CHECKPOINT.text.encode()[:length]).verify(KEY.public)


@pytest.mark.parametrize("size", ["-1", "01", "1.0", "", "x", "9" * 20])
def test_refuses_a_size_in_another_spelling(size: str) -> None:
    lines = CHECKPOINT.note.text.split("\n")
    note = sign_note("\n".join([lines[0], size, *lines[2:]]), ORIGIN, KEY)
    with pytest.raises(InputError):
        parse_checkpoint(str(note))
