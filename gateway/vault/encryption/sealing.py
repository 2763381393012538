"""Encrypts and decrypts pieces: the values that one request added to its conversation. Pure; randomness is an
argument.

Every value is encrypted under its own data key (AES-256-GCM, NIST SP 800-38D). The data keys of a piece are its ring,
which is wrapped by AES-256-GCM under a wrapping key (see `wrapping`). This enables erasure by key destruction: without
its ring a piece cannot be opened. A ring without the key of one value opens the other values only, in every copy of
the piece.

    keys       nonce, wrapped ring
    sealed     for each value: length, and (token, NUL, value) encrypted under its data key
    subjects   for each value: its index and the blind index of each identifier in it

Keys, ring and values are bound to their location (`Place`): a piece that was moved or swapped cannot be opened.

    piece = seal({"IBAN_...": "DE89 ..."}, {}, place=place, wrapping=key, entropy=random_bytes(entropy_bytes(1)))
    unseal(piece, place=place, wrapping=key)                                        # {"IBAN_...": "DE89 ..."}
    without(piece, {digest}, place=place, wrapping=key, entropy=...)                # the piece without that subject
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from .errors import VaultFailed

KEY_BYTES = 32  # AES-256
NONCE_BYTES = 12  # SP 800-38D 5.2.1.1
_TAG_BYTES = 16  # SP 800-38D 5.2.1.2, the longest
SUBJECT_BYTES = 16  # of a blind index: 128 bits, to avoid collisions
_INDEX_BYTES = 4
_SUBJECT_RECORD_BYTES = _INDEX_BYTES + SUBJECT_BYTES
# A data key encrypts one value, once, so its nonce may be constant (SP 800-38D 8.2: unique for each key).
_ONLY_NONCE = bytes(NONCE_BYTES)


class Place(NamedTuple):
    """Location of a piece."""

    tenant: bytes
    """Keyed digest, 16 bytes."""
    conversation: bytes
    """Keyed digest, 32 bytes."""
    seq: int
    """Number of the piece in its conversation, from 0."""


class Piece(NamedTuple):
    """Encrypted values of one conversation."""

    keys: bytes
    subjects: bytes
    sealed: bytes


def entropy_bytes(values: int) -> int:
    """Return the number of random bytes for that number of values."""
    return NONCE_BYTES + KEY_BYTES * values


def seal(
    values: Mapping[str, str],
    subjects: Mapping[str, Collection[bytes]],
    *,
    place: Place,
    wrapping: AESGCM,
    entropy: bytes,
) -> Piece:
    """Encrypt the values of one piece.

    Args:
        values: token -> value.
        subjects: token -> blind indexes of the identifiers in its value; tokens may be absent.
        entropy: `entropy_bytes(len(values))` random bytes, unused.
    """
    ring = entropy[NONCE_BYTES:]
    context = _context(b"v", place)
    sealed: list[bytes] = []
    index: list[bytes] = []
    for number, (token, value) in enumerate(values.items()):
        key = AESGCM(_key(ring, number))
        data = key.encrypt(_ONLY_NONCE, f"{token}\0{value}".encode(), context)
        sealed += (len(data).to_bytes(4), data)
        if token in subjects:
            index += [number.to_bytes(_INDEX_BYTES) + digest for digest in subjects[token]]
    return Piece(_wrapped(ring, place, wrapping, entropy[:NONCE_BYTES]), b"".join(index), b"".join(sealed))


def unseal(piece: Piece, *, place: Place, wrapping: AESGCM) -> dict[str, str]:
    """Decrypt a piece: token -> value.

    Raises:
        VaultFailed: it was altered, or belongs to another location.
    """
    ring = _unwrapped(piece.keys, place, wrapping)
    context = _context(b"v", place)
    parts = _split(piece.sealed)
    if len(parts) * KEY_BYTES != len(ring):
        raise VaultFailed(f"expected {len(ring) // KEY_BYTES} values, one a key, got {len(parts)}")
    values: dict[str, str] = {}
    try:
        for number, data in enumerate(parts):
            key = AESGCM(_key(ring, number))
            token, _, value = key.decrypt(_ONLY_NONCE, data, context).decode().partition("\0")
            values[token] = value
    except InvalidTag:
        raise VaultFailed("a value was altered, or belongs to another conversation") from None
    return values


def without(
    piece: Piece,
    digests: Collection[bytes],
    *,
    place: Place,
    wrapping: AESGCM,
    rewrapping: AESGCM | None = None,
    entropy: bytes,
) -> tuple[Piece, int]:
    """Return the piece without the values of these subjects, with a ring without their data keys, and the number of
    removed values.

    Args:
        rewrapping: wraps the new ring; None: `wrapping`.
        entropy: `entropy_bytes(0)` random bytes, unused.
    """
    records = list(_subjects(piece.subjects))
    doomed = numbers_about(piece.subjects, digests)
    if not doomed:
        return piece, 0
    ring = _unwrapped(piece.keys, place, wrapping)
    kept = [number for number in range(len(ring) // KEY_BYTES) if number not in doomed]
    place_of = {number: new for new, number in enumerate(kept)}
    parts = _split(piece.sealed)
    return (
        Piece(
            _wrapped(b"".join(_key(ring, number) for number in kept), place, rewrapping or wrapping, entropy),
            b"".join(place_of[n].to_bytes(_INDEX_BYTES) + digest for n, digest in records if n in place_of),
            b"".join(len(parts[number]).to_bytes(4) + parts[number] for number in kept),
        ),
        len(doomed),
    )


def rewrapped(keys: bytes, *, place: Place, old: AESGCM, new: AESGCM, entropy: bytes) -> bytes:
    """Return the same ring, wrapped under another key.

    Args:
        entropy: `entropy_bytes(0)` random bytes, unused.
    """
    return _wrapped(_unwrapped(keys, place, old), place, new, entropy)


def count_values(keys: bytes) -> int:
    """Return the number of values in a wrapped ring, from its length."""
    return (len(keys) - NONCE_BYTES - _TAG_BYTES) // KEY_BYTES


def subjects_in(records: bytes) -> set[bytes]:
    """Return the blind indexes in a piece's `subjects`."""
    return {digest for _, digest in _subjects(records)}


def numbers_about(records: bytes, digests: Collection[bytes]) -> set[int]:
    """Return the numbers of the values that contain one of these subjects, from a piece's `subjects`."""
    return {number for number, digest in _subjects(records) if digest in digests}


def _subjects(records: bytes) -> Iterator[tuple[int, bytes]]:
    for start in range(0, len(records), _SUBJECT_RECORD_BYTES):
        middle = start + _INDEX_BYTES
        yield int.from_bytes(records[start:middle]), records[middle : start + _SUBJECT_RECORD_BYTES]


def _split(sealed: bytes) -> list[bytes]:
    parts: list[bytes] = []
    start = 0
    while start < len(sealed):
        end = start + 4 + int.from_bytes(sealed[start : start + 4])
        parts.append(sealed[start + 4 : end])
        start = end
    if start != len(sealed):
        raise VaultFailed("a value is truncated")
    return parts


def _key(ring: bytes, number: int) -> bytes:
    return ring[KEY_BYTES * number : KEY_BYTES * (number + 1)]


def _wrapped(ring: bytes, place: Place, wrapping: AESGCM, nonce: bytes) -> bytes:
    return nonce + wrapping.encrypt(nonce, ring, _context(b"k", place))


def _unwrapped(keys: bytes, place: Place, wrapping: AESGCM) -> bytes:
    try:
        return wrapping.decrypt(keys[:NONCE_BYTES], keys[NONCE_BYTES:], _context(b"k", place))
    except (InvalidTag, ValueError):
        raise VaultFailed("the keys of a piece were altered, or belong to another conversation") from None


def _context(purpose: bytes, place: Place) -> bytes:
    """Return the associated data: fields of fixed length, so that it is unique for each location."""
    return b"".join((b"sovctl vault v2", purpose, place.tenant, place.conversation, place.seq.to_bytes(8)))
