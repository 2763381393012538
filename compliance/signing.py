"""Ed25519 keys and signatures.

A `SigningKey` is stored in one PKCS#8 PEM file of mode 0600, created on demand; its `repr` shows the key id only. That
file can have the URI of a key in a PKCS#11 token instead (see `pkcs11_signer`). A
`VerifyKey` is its public half (see `verify_key`); here it verifies with OpenSSL. A key signs two kinds of messages:
signed notes (`ledger/note.py`), and documents, whose prefix distinguishes them from notes.

    key = load_or_create(state / "keys" / "ledger.key")
    signature = sign_document(plan, key)  # {"keyid": ..., "sig": ...}
    verify_document(plan, signature, key.public)
"""

from __future__ import annotations

import base64
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from sovctl.support.atomic_files import sync_folder
from sovctl.support.canonical_json import canonical_json
from sovctl.support.errors import InputError
from sovctl.support.plain_json import decode_base64

from .ed25519 import is_safe_key
from .pkcs11_signer import PREFIX, TokenKey, parse_uri
from .verify_key import ED25519, BadSignature, VerifyKey, parse_vkey_as

__all__ = [
    "BadSignature",
    "SigningKey",
    "VerifyKey",
    "load",
    "load_or_create",
    "parse_vkey",
    "sign_document",
    "verify_document",
]

# Not the first line of any note: a checkpoint starts with its origin, a cosignature with `cosignature/v1`.
_DOCUMENT_PREFIX = b"sovctl document v1\n"


class LibraryVerifyKey(VerifyKey):
    """A public key that verifies with OpenSSL. Its results equal those of `VerifyKey`."""

    def _is_valid(self, message: bytes, signature: bytes) -> bool:
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return is_safe_key(self.raw)


class SigningKey:
    """A private key. Its `repr` shows the key id only."""

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.public: VerifyKey = LibraryVerifyKey(
            private.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        )

    @classmethod
    def generate(cls) -> SigningKey:
        """Return a new key from the random source of the operating system."""
        return cls(Ed25519PrivateKey.generate())

    def __repr__(self) -> str:
        return f"SigningKey(keyid={self.public.keyid[:16]}, private=hidden)"

    def sign(self, message: bytes) -> bytes:
        """Return the Ed25519 signature of `message`, 64 bytes."""
        return self._private.sign(message)

    def verify(self, message: bytes, signature: bytes) -> None:
        """Verify a signature with the public key; see `VerifyKey.verify`."""
        self.public.verify(message, signature)

    def pem(self) -> bytes:
        """Return the key as unencrypted PKCS#8 PEM, for a file of mode 0600."""
        return self._private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )


class TokenSigningKey(SigningKey):
    """A private key in a PKCS#11 token. It cannot be exported."""

    def __init__(self, key: TokenKey) -> None:
        self._key = key
        self.public = LibraryVerifyKey(key.public_raw())

    def sign(self, message: bytes) -> bytes:
        """Return the Ed25519 signature of `message`, 64 bytes, made by the token."""
        return self._key.sign(message)

    def pem(self) -> bytes:
        """Raise `InputError`, because the private key cannot leave the token."""
        raise InputError("expected a key in a file, got one in a PKCS#11 token", where=f"token {self._key.token}")


def load_or_create(path: Path) -> SigningKey:
    """Load the key in `path`, or create it with mode 0600 if the file is absent.

    Creation is atomic: processes that start concurrently load the same key.

    Raises:
        InputError: readable by others, or not an Ed25519 private key in PKCS#8 PEM.
    """
    if not path.exists():
        _create(path)
    return load(path)


def load(path: Path) -> SigningKey:
    """Load the key in `path`: a private key, or the PKCS#11 URI of one.

    Raises:
        InputError: absent, readable by group or others, or not an Ed25519 private key in PKCS#8 PEM.
    """
    try:
        content = path.read_bytes()
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError as error:
        raise InputError(f"cannot read the private key: {error.strerror}", where=str(path)) from error
    if mode & 0o077:
        raise InputError(
            f"private key is readable by others (mode {mode:04o})",
            where=str(path),
            hint=f"run `chmod 600 {path}`",
        )
    if content.startswith(PREFIX.encode()):
        return TokenSigningKey(parse_uri(content.decode(errors="replace"), where=str(path)))
    try:
        key = serialization.load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError("not an Ed25519 private key in PKCS#8 PEM", where=str(path))
    return SigningKey(key)


def parse_vkey(text: str, *, kind: int = ED25519) -> tuple[str, VerifyKey]:
    """Parse C2SP verifier key text into name and key.

    Raises:
        InputError: not a verifier key, or its hash does not match the key.
    """
    return parse_vkey_as(LibraryVerifyKey, text, kind=kind)


def sign_document(value: Any, key: SigningKey) -> dict[str, str]:
    """Sign the canonical JSON of `value`. Returns `{"keyid", "sig"}`, the signature in standard base64."""
    signature = key.sign(_DOCUMENT_PREFIX + canonical_json(value))
    return {"keyid": key.public.keyid, "sig": base64.b64encode(signature).decode()}


def verify_document(value: Any, signature: Mapping[str, str], key: VerifyKey) -> None:
    """Verify a signature of `sign_document` over `value`.

    Raises:
        BadSignature: the content, the signature or the key differs.
    """
    keyid = str(signature.get("keyid", ""))
    if keyid != key.keyid:
        raise BadSignature(f"expected a signature by key {key.keyid[:16]}, got one by {keyid[:16] or 'no key'!r}")
    try:
        raw = decode_base64(str(signature.get("sig", "")))
    except ValueError:
        raise BadSignature("the signature is not valid base64") from None
    key.verify(_DOCUMENT_PREFIX + canonical_json(value), raw)


def _create(path: Path) -> None:
    """Write a new key to a temporary file and link it to `path`, so that creation is atomic."""
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
            return  # another process created the key first
        sync_folder(path.parent)
    finally:
        Path(temporary).unlink()
