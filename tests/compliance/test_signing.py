"""Keys: made once, closed to others, never printed; signatures bind content and key."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.compliance import signing as keys
from sovctl.compliance.signing import (
    BadSignature,
    SigningKey,
    load_or_create,
    parse_vkey,
    sign_document,
    verify_document,
)
from sovctl.support.errors import InputError
from sovctl.support.plain_json import decode_base64

# C2SP signed-note v1.0.0, "Example".
EXAMPLE_VKEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"

KEY = SigningKey.generate()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def test_a_new_key_is_closed_to_others_and_stays_the_same(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "ledger.key"
    first = load_or_create(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_or_create(path).public == first.public
    assert [p.name for p in path.parent.iterdir()] == ["ledger.key"]


def test_processes_that_start_together_get_one_key(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from sovctl.compliance.signing import load_or_create;"
        "print(load_or_create(pathlib.Path(sys.argv[1])).public.keyid)"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "k")], stdout=subprocess.PIPE) for _ in range(4)
    ]
    assert len({run.communicate()[0] for run in runs}) == 1
    assert all(run.returncode == 0 for run in runs)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660])
def test_refuses_a_key_that_others_can_read(tmp_path: Path, mode: int) -> None:
    load_or_create(tmp_path / "k")
    (tmp_path / "k").chmod(mode)
    with pytest.raises(InputError, match=f"mode {mode:04o}"):
        load_or_create(tmp_path / "k")


@pytest.mark.parametrize("content", [b"", b"hello", b"\xff\xfe"])
def test_refuses_what_is_no_key_and_does_not_show_it(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "k"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(InputError, match="not an Ed25519 private key") as caught:
        load_or_create(path)
    assert "hello" not in str(caught.value)


def test_a_private_key_never_prints() -> None:
    secret = KEY.pem().splitlines()[1].decode()
    assert secret not in repr(KEY) + str(KEY) + f"{vars(KEY)}"


def test_reads_the_verifier_key_of_the_standard() -> None:
    name, key = parse_vkey(EXAMPLE_VKEY)
    assert name == "example.com/foo"
    assert key.vkey(name) == EXAMPLE_VKEY


@given(st.integers(0, len(EXAMPLE_VKEY) - 1), st.characters(min_codepoint=33, max_codepoint=126))
def test_any_changed_character_of_a_verifier_key_is_refused(at: int, character: str) -> None:
    changed = EXAMPLE_VKEY[:at] + character + EXAMPLE_VKEY[at + 1 :]
    if changed != EXAMPLE_VKEY:
        with pytest.raises(InputError):
            parse_vkey(changed)


@given(JSON)
def test_a_signed_document_verifies(value: object) -> None:
    verify_document(value, sign_document(value, KEY), KEY.public)


@given(JSON, JSON)
def test_another_document_does_not_verify(value: object, other: object) -> None:
    if keys.canonical_json(value) != keys.canonical_json(other):
        with pytest.raises(BadSignature):
            verify_document(other, sign_document(value, KEY), KEY.public)


@pytest.mark.parametrize("change", [{"sig": ""}, {"sig": "AAAA"}, {"sig": "?"}, {"keyid": ""}, {"keyid": "0" * 64}])
def test_an_altered_signature_does_not_verify(change: dict[str, str]) -> None:
    with pytest.raises(BadSignature):
        verify_document({"a": 1}, sign_document({"a": 1}, KEY) | change, KEY.public)


def test_a_document_signature_is_no_note_signature() -> None:
    signature = decode_base64(sign_document({"a": 1}, KEY)["sig"])
    with pytest.raises(BadSignature):
        KEY.verify(keys.canonical_json({"a": 1}), signature)
