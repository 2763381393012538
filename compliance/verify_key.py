"""Ed25519 public keys and their text form, a C2SP *vkey* (`name+hash+base64`, https://c2sp.org/signed-note).

Imports the standard library only, because the verifier `sovctl-verify.pyz` contains this module. `signing` has a
subclass that verifies with OpenSSL; both return the same result for every input (see `ed25519`).

    name, key = parse_vkey(text)
    key.verify(message, signature)  # raises BadSignature
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Protocol, TypeVar

from sovctl.support.errors import InputError, SovctlError
from sovctl.support.plain_json import decode_base64

from . import ed25519

ED25519 = 0x01  # signature type byte, C2SP signed-note v1.0.0, "Signature types"
COSIGNATURE = 0x04  # timestamped Ed25519 checkpoint cosignature, same table


class BadSignature(SovctlError):
    """The signature is invalid for this key and content."""


@dataclass(frozen=True, eq=False)
class VerifyKey:
    """A public key. Keys with equal bytes are equal."""

    raw: bytes
    """Encoded public key, 32 bytes (RFC 8032)."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VerifyKey) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash(self.raw)

    @property
    def keyid(self) -> str:
        """SHA-256 of the raw public key, 64 lower-case hex digits."""
        return hashlib.sha256(self.raw).hexdigest()

    def verify(self, message: bytes, signature: bytes) -> None:
        """Verify the signature of `message`.

        Raises:
            BadSignature: `signature` is invalid.
        """
        if not self._is_valid(message, signature):
            raise BadSignature(f"expected a signature by key {self.keyid[:16]}, got an invalid one")

    def _is_valid(self, message: bytes, signature: bytes) -> bool:
        return ed25519.verify(self.raw, message, signature)

    def note_key_id(self, name: str, *, kind: int = ED25519) -> bytes:
        """Return the 4-byte key id of signature lines (C2SP signed-note, "Signatures")."""
        return hashlib.sha256(name.encode() + b"\n" + bytes([kind]) + self.raw).digest()[:4]

    def vkey(self, name: str, *, kind: int = ED25519) -> str:
        """Return the C2SP verifier key text, such as `example.com/foo+530d903a+Aekye...`."""
        material = base64.b64encode(bytes([kind]) + self.raw).decode()
        return f"{checked_key_name(name)}+{self.note_key_id(name, kind=kind).hex()}+{material}"


class Signer(Protocol):
    """A private key, such as `signing.SigningKey`."""

    @property
    def public(self) -> VerifyKey:
        """The public key."""

    def sign(self, message: bytes) -> bytes:
        """Return the Ed25519 signature of `message`, 64 bytes."""


Key = TypeVar("Key", bound=VerifyKey)


def parse_vkey_as(key_type: type[Key], text: str, *, kind: int = ED25519) -> tuple[str, Key]:
    """Parse C2SP verifier key text into name and a key of the given type.

    Raises:
        InputError: not a verifier key, its hash does not match, or its point has a small order.
    """
    name, _, rest = text.strip().partition("+")
    key_id, _, material = rest.partition("+")
    try:
        decoded = decode_base64(material)
    except ValueError:
        decoded = b""
    if len(decoded) != 33 or decoded[0] != kind:
        raise InputError(
            "expected a verifier key (name+hash+base64 of a type byte and 32 bytes)",
            hint="use the .vkey file in the folder of the ledger or the report",
        )
    key = key_type(decoded[1:])
    if key.note_key_id(checked_key_name(name), kind=kind).hex() != key_id:
        raise InputError(
            f"expected the verifier key's hash {key.note_key_id(name, kind=kind).hex()}, got {key_id[:16]!r}",
            hint="copy the file again; it was altered or is incomplete",
        )
    if not ed25519.is_safe_key(key.raw):
        raise InputError("the verifier key is not a safe Ed25519 key", hint="get the key from its owner again")
    return name, key


def parse_vkey(text: str, *, kind: int = ED25519) -> tuple[str, VerifyKey]:
    """Parse C2SP verifier key text; see `parse_vkey_as`."""
    return parse_vkey_as(VerifyKey, text, kind=kind)


def checked_key_name(name: str) -> str:
    """Return `name` if it is a valid key name: not empty, no white space, no plus sign.

    Raises:
        InputError: the name is invalid.
    """
    if not name or "+" in name or name != "".join(name.split()) or not name.isprintable():
        raise InputError(f"expected a key name without spaces or '+', got {name[:80]!r}")
    return name
