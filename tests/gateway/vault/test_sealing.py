"""Sealing, for any values: what went in comes out, and nothing opens without exactly its key and place."""

from __future__ import annotations

import os

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.vault.encryption.errors import VaultFailed
from sovctl.gateway.vault.encryption.sealing import (
    KEY_BYTES,
    Piece,
    Place,
    count_values,
    entropy_bytes,
    rewrapped,
    seal,
    subjects_in,
    unseal,
    without,
)

WRAPPING = AESGCM(bytes(range(KEY_BYTES)))
OTHER = AESGCM(bytes(KEY_BYTES))
PLACE = Place(b"t" * 16, b"c" * 32, 0)
tokens = st.from_regex(r"[A-Z_]{1,12}_[0-9A-Y]{16}", fullmatch=True)
values = st.dictionaries(tokens, st.text(), max_size=6)
digests = st.binary(min_size=16, max_size=16)


def sealed(content: dict[str, str], subjects: dict[str, list[bytes]] | None = None, place: Place = PLACE) -> Piece:
    entropy = os.urandom(entropy_bytes(len(content)))
    return seal(content, subjects or {}, place=place, wrapping=WRAPPING, entropy=entropy)


@given(values)
def test_what_went_in_comes_out(content: dict[str, str]) -> None:
    piece = sealed(content)
    assert unseal(piece, place=PLACE, wrapping=WRAPPING) == content
    assert count_values(piece.keys) == len(content)


@given(values.filter(bool), st.sampled_from(["keys", "sealed"]), st.data())
def test_any_flipped_bit_is_found(content: dict[str, str], part: str, data: st.DataObject) -> None:
    piece = sealed(content)
    content_bytes = bytearray(getattr(piece, part))
    place = data.draw(st.integers(0, 8 * len(content_bytes) - 1))
    content_bytes[place // 8] ^= 1 << place % 8
    altered = piece._replace(**{part: bytes(content_bytes)})
    try:
        found = unseal(altered, place=PLACE, wrapping=WRAPPING)
    except VaultFailed:
        return
    raise AssertionError(f"{len(found)} values opened")


@given(values.filter(bool))
def test_nothing_opens_elsewhere_or_under_another_key(content: dict[str, str]) -> None:
    piece = sealed(content)
    for place in (PLACE._replace(tenant=b"u" * 16), PLACE._replace(conversation=b"d" * 32), PLACE._replace(seq=1)):
        with pytest.raises(VaultFailed):
            unseal(piece, place=place, wrapping=WRAPPING)
    with pytest.raises(VaultFailed):
        unseal(piece, place=PLACE, wrapping=OTHER)


@given(st.dictionaries(tokens, st.tuples(st.text(), st.lists(digests, max_size=3)), max_size=6), st.data())
def test_a_subject_is_gone_and_nobody_else(content: dict[str, tuple[str, list[bytes]]], data: st.DataObject) -> None:
    about = {token: who for token, (_, who) in content.items()}
    piece = sealed({token: value for token, (value, _) in content.items()}, about)
    everybody = sorted({digest for who in about.values() for digest in who})
    assert subjects_in(piece.subjects) == set(everybody)
    doomed = set(data.draw(st.lists(st.sampled_from(everybody), unique=True))) if everybody else set()
    rest, count = without(piece, doomed, place=PLACE, wrapping=WRAPPING, entropy=os.urandom(entropy_bytes(0)))
    kept = {token: value for token, (value, who) in content.items() if not doomed & set(who)}
    assert unseal(rest, place=PLACE, wrapping=WRAPPING) == kept
    assert count == len(content) - len(kept)
    assert count_values(rest.keys) == len(kept)
    assert subjects_in(rest.subjects) == {digest for token in kept for digest in about[token]}


@given(values.filter(bool), st.data())
def test_a_ring_without_a_key_opens_no_old_copy_of_its_value(content: dict[str, str], data: st.DataObject) -> None:
    """The rows of a backup beside the ring that an erasure left: everybody's values but the erased one."""
    who = {token: [bytes([number]) * 16] for number, token in enumerate(content)}
    old = sealed(content, who)
    victim = data.draw(st.sampled_from(sorted(content)))
    new, _ = without(old, set(who[victim]), place=PLACE, wrapping=WRAPPING, entropy=os.urandom(entropy_bytes(0)))
    if len(content) == 1:
        assert count_values(new.keys) == 0
    with pytest.raises(VaultFailed):
        unseal(old._replace(keys=new.keys), place=PLACE, wrapping=WRAPPING)


@given(values)
def test_a_ring_under_a_new_wrapping_key_opens_the_same_values(content: dict[str, str]) -> None:
    piece = sealed(content)
    keys = rewrapped(piece.keys, place=PLACE, old=WRAPPING, new=OTHER, entropy=os.urandom(entropy_bytes(0)))
    assert unseal(piece._replace(keys=keys), place=PLACE, wrapping=OTHER) == content
    with pytest.raises(VaultFailed):
        unseal(piece._replace(keys=keys), place=PLACE, wrapping=WRAPPING)
