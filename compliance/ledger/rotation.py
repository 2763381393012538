"""Rotation of a ledger's key: the old key signs the new one, in an entry of the log.

    {"type": "key-rotated", "time", "origin", "index", "old_vkey", "new_vkey", "old_signature", "new_signature", ...}

Both keys sign the same statement, so that a key cannot be added without its owner. Checkpoints that cover the entry are
valid only with the new key: the old one is revoked from there on. A verifier that has one key of the chain computes the
others: forwards because the old key signed, backwards because the log states the old key.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sovctl.support.errors import InputError
from sovctl.support.plain_json import decode_base64, plain_json

from ..verify_key import BadSignature, Signer, VerifyKey, parse_vkey
from .format import Entry

RECORD_TYPE = "key-rotated"
MARK = b'"type":"key-rotated"'
_PREFIX = b"sovctl key rotation v1\n"  # not the first line of a note or a document
_SIGNED = ("index", "new_vkey", "old_vkey", "origin")


@dataclass(frozen=True)
class Rotation:
    """A rotation whose two signatures are valid."""

    index: int
    """Index of its entry. Larger checkpoints need the new key."""
    old: VerifyKey
    new: VerifyKey
    time: str
    reason: str


@dataclass(frozen=True)
class KeyChain:
    """The keys of a log by tree size."""

    name: str
    first: VerifyKey
    rotations: tuple[Rotation, ...] = ()

    @property
    def newest(self) -> VerifyKey:
        """The key in force."""
        return self.rotations[-1].new if self.rotations else self.first

    @property
    def keys(self) -> tuple[VerifyKey, ...]:
        """All keys, oldest first."""
        return (self.first, *(each.new for each in self.rotations))

    def at(self, size: int) -> VerifyKey:
        """Return the key that signs checkpoints of `size` entries."""
        covering = [each for each in self.rotations if each.index < size]
        return covering[-1].new if covering else self.first


def rotation_record(
    origin: str, index: int, *, old: Signer, new: Signer, time: str, operator: str, reason: str
) -> dict[str, Any]:
    """Return the record of a rotation.

    Args:
        index: index that the entry will have.
        reason: `planned` or `compromised`.
    """
    statement = {
        "origin": origin,
        "index": index,
        "old_vkey": old.public.vkey(origin),
        "new_vkey": new.public.vkey(origin),
    }
    message = _message(statement)
    return {
        "type": RECORD_TYPE,
        "time": time,
        "operator": operator,
        "reason": reason,
        **statement,
        "old_signature": base64.b64encode(old.sign(message)).decode(),
        "new_signature": base64.b64encode(new.sign(message)).decode(),
    }


def parse_rotation(record: Mapping[str, Any]) -> Rotation:
    """Return a rotation after verifying both signatures.

    Raises:
        InputError: not a record of a rotation.
        BadSignature: a signature is invalid.
    """
    try:
        origin, index = str(record["origin"]), record["index"]
        keys = [parse_vkey(record[name]) for name in ("old_vkey", "new_vkey")]
        signatures = [decode_base64(record[name]) for name in ("old_signature", "new_signature")]
        message = _message(record)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"expected a record of a key rotation, got another ({type(error).__name__})") from None
    if record.get("type") != RECORD_TYPE or type(index) is not int or any(name != origin for name, _ in keys):
        raise InputError("expected a record of a key rotation of one log, got another")
    for (_, key), signature in zip(keys, signatures, strict=True):
        key.verify(message, signature)
    return Rotation(index, keys[0][1], keys[1][1], str(record.get("time", "")), str(record.get("reason", "")))


def chain_of(name: str, given: VerifyKey, entries: Sequence[Entry]) -> tuple[KeyChain, list[tuple[int, str]]]:
    """Return the keys of a log, and index and description of each invalid rotation.

    Args:
        given: a key of the log: any of the chain.
        entries: its entries of type `key-rotated`, in order.
    """
    rotations: list[Rotation] = []
    problems: list[tuple[int, str]] = []
    for entry in entries:
        try:
            found = parse_rotation(entry.record)
            if found.index != entry.leaf_index or entry.record["origin"] != name:
                raise BadSignature(f"expected a rotation of {name} at entry {entry.leaf_index}, got another")
            if rotations and rotations[-1].new != found.old:
                raise BadSignature("expected the old key to be the key in force, got another")
        except (InputError, BadSignature) as error:
            problems.append((entry.leaf_index, f"key rotation: {error.message}"))
        else:
            rotations.append(found)
    chain = KeyChain(name, rotations[0].old, tuple(rotations)) if rotations else KeyChain(name, given)
    if given not in chain.keys:
        if rotations:
            problems.append((rotations[0].index, "key rotation: the given key is not in the chain of keys of the log"))
        return KeyChain(name, given), problems
    return chain, problems


def _message(statement: Mapping[str, Any]) -> bytes:
    return _PREFIX + plain_json({name: statement[name] for name in _SIGNED})
