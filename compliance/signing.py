"""Ed25519 keys: who signed what.

A `SigningKey` lives in one PKCS#8 PEM file of mode 0600, made on demand, and prints as nothing but its key id. A
`VerifyKey` is its public half; as text it is a C2SP *vkey* (`name+hash+base64`, https://c2sp.org/signed-note), which
is what an auditor keeps. A key signs two kinds of message that can never be taken for each other: signed notes
(`ledger/note.py`) and documents, which carry a prefix of their own.

    key = load_or_create(state / "keys" / "ledger.key")
    signature = sign_document(plan, key)  # {"keyid": ..., "sig": ...}
    verify_document(plan, signature, key.public)
"""

from __future__ import annotations

import base64
import hashlib
import os
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from sovctl.support.atomic_files import sync_folder
from sovctl.support.canonical_json import canonical_json, decode_base64
from sovctl.support.errors import InputError, SovctlError

ED25519 = 0x01  # signature type byte, C2SP signed-note v1.0.0, "Signature types"
COSIGNATURE = 0x04  # timestamped Ed25519 checkpoint cosignature, same table

# No note text starts with this line: a checkpoint starts with its origin, a cosignature with `cosignature/v1`.
_DOCUMENT_PREFIX = b"sovctl document v1\n"


class BadSignature(SovctlError):
    """A signature does not belong to this key and this content."""


@dataclass(frozen=True)
class VerifyKey:
    """The public half of a key: checks, never signs."""

    raw: bytes
    """32 bytes, RFC 8032."""

    @property
    def keyid(self) -> str:
        """SHA-256 of the raw public key, 64 lower-case hex digits."""
        return hashlib.sha256(self.raw).hexdigest()

    def verify(self, message: bytes, signature: bytes) -> None:
        """Return when `signature` is this key's over `message`.

        Raises:
            BadSignature: it is not.
        """
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except (InvalidSignature, ValueError):
            raise BadSignature(f"expected a signature by key {self.keyid[:16]}, got another") from None

    def note_key_id(self, name: str, *, kind: int = ED25519) -> bytes:
        """The four bytes that name this key in a signature line (C2SP signed-note, "Signatures")."""
        return hashlib.sha256(name.encode() + b"\n" + bytes([kind]) + self.raw).digest()[:4]

    def vkey(self, name: str, *, kind: int = ED25519) -> str:
        """This key as C2SP verifier key text, such as `example.com/foo+530d903a+Aekye...`."""
        material = base64.b64encode(bytes([kind]) + self.raw).decode()
        return f"{checked_key_name(name)}+{self.note_key_id(name, kind=kind).hex()}+{material}"


class SigningKey:
    """A private key. Its `repr` shows the key id only; the key itself is never printed."""

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.public = VerifyKey(
            private.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        )

    @classmethod
    def generate(cls) -> SigningKey:
        """A new key from the operating system's random source."""
        return cls(Ed25519PrivateKey.generate())

    def __repr__(self) -> str:
        return f"SigningKey(keyid={self.public.keyid[:16]}, private=hidden)"

    def sign(self, message: bytes) -> bytes:
        """The 64-byte Ed25519 signature over `message`."""
        return self._private.sign(message)

    def verify(self, message: bytes, signature: bytes) -> None:
        """Like `VerifyKey.verify`."""
        self.public.verify(message, signature)

    def pem(self) -> bytes:
        """PKCS#8 PEM, unencrypted: for a file of mode 0600 and nothing else."""
        return self._private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )


def load_or_create(path: Path) -> SigningKey:
    """The key in `path`; a new one is written there, mode 0600, when the file is absent.

    Two processes that start together get the same key: the file appears whole, and only once.

    Raises:
        InputError: others can read the file, or it is no Ed25519 private key in PKCS#8 PEM.
    """
    if not path.exists():
        _create(path)
    return load(path)


def load(path: Path) -> SigningKey:
    """The key in `path`.

    Raises:
        InputError: absent, readable by group or others, or no Ed25519 private key in PKCS#8 PEM.
    """
    try:
        content = path.read_bytes()
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError as error:
        raise InputError(f"cannot read the private key: {error.strerror}", where=str(path)) from error
    if mode & 0o077:
        raise InputError(
            f"expected a private key that only its owner can read (0600), got {mode:04o}",
            where=str(path),
            hint=f"chmod 600 {path}",
        )
    try:
        key = serialization.load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError("expected an Ed25519 private key in PKCS#8 PEM, got something else", where=str(path))
    return SigningKey(key)


def parse_vkey(text: str, *, kind: int = ED25519) -> tuple[str, VerifyKey]:
    """The name and key in C2SP verifier key text.

    Raises:
        InputError: it is not one, or its hash belongs to another key.
    """
    name, _, rest = text.strip().partition("+")
    key_id, _, material = rest.partition("+")
    try:
        decoded = decode_base64(material)
    except ValueError:
        decoded = b""
    if len(decoded) != 33 or decoded[0] != kind:
        raise InputError(
            "expected a verifier key (name+hash+base64 of a type byte and 32 bytes), got something else",
            hint="use the .vkey file that sovctl wrote beside the log or the report",
        )
    key = VerifyKey(decoded[1:])
    if key.note_key_id(checked_key_name(name), kind=kind).hex() != key_id:
        raise InputError(
            f"expected the verifier key's hash {key.note_key_id(name, kind=kind).hex()}, got {key_id[:16]!r}",
            hint="the file was altered, or copied in part",
        )
    return name, key


def checked_key_name(name: str) -> str:
    """`name` when a signed note may carry it: not empty, no white space, no plus sign.

    Raises:
        InputError: it may not.
    """
    if not name or "+" in name or name != "".join(name.split()) or not name.isprintable():
        raise InputError(f"expected a key name without spaces or '+', got {name[:80]!r}")
    return name


def sign_document(value: Any, key: SigningKey) -> dict[str, str]:
    """`{"keyid", "sig"}` over the canonical JSON of `value`; the signature as standard base64."""
    signature = key.sign(_DOCUMENT_PREFIX + canonical_json(value))
    return {"keyid": key.public.keyid, "sig": base64.b64encode(signature).decode()}


def verify_document(value: Any, signature: Mapping[str, str], key: VerifyKey) -> None:
    """Return when `signature`, as `sign_document` made it, is this key's over `value`.

    Raises:
        BadSignature: altered content, altered signature or another key.
    """
    keyid = str(signature.get("keyid", ""))
    if keyid != key.keyid:
        raise BadSignature(f"expected a signature by key {key.keyid[:16]}, got one by {keyid[:16] or 'no key'!r}")
    try:
        raw = decode_base64(str(signature.get("sig", "")))
    except ValueError:
        raise BadSignature("expected a base64 signature, got something else") from None
    key.verify(_DOCUMENT_PREFIX + canonical_json(value), raw)


def _create(path: Path) -> None:
    """Write a new key under a name of its own, then link it into place: whole or not at all, and never twice."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600 from the start
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(SigningKey.generate().pem())
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, path)
        except FileExistsError:
            return  # somebody else was first; theirs is the key
        sync_folder(path.parent)
    finally:
        Path(temporary).unlink()
