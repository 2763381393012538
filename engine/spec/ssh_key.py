"""Public ssh keys: their fingerprints, and the public key of a private one."""

from __future__ import annotations

import base64
import binascii
import hashlib

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from sovctl.support.canonical_json import sha256_hex

_PUBLIC = (serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)


def key_fingerprint(line: str) -> str:
    """Return the SHA-256 fingerprint of a line of authorized_keys, as `ssh-keygen -l` prints it.

    A line with options or another unknown form has no fingerprint, and is shown as a digest of the whole line.
    """
    kind, _, rest = line.strip().partition(" ")
    try:
        blob = base64.b64decode(rest.split(" ")[0], validate=True)
    except (binascii.Error, ValueError):
        blob = b""
    if kind and blob[4 : 4 + len(kind)] == kind.encode() and _is_whole(blob):
        return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    return f"unknown line {sha256_hex(line)[:12]}"


def public_key_of(private_key: bytes) -> str:
    """Return the public key of a private one as `type key`; empty for an encrypted, an unknown or no key."""
    for load in (serialization.load_ssh_private_key, serialization.load_pem_private_key):
        try:
            return load(private_key, None).public_key().public_bytes(*_PUBLIC).decode()
        except (ValueError, TypeError, UnsupportedAlgorithm):
            continue
    return ""


def _is_whole(blob: bytes) -> bool:
    """Return whether a key consists of whole strings, each after its length (RFC 4253, 6.6)."""
    offset = 0
    while offset + 4 <= len(blob):
        offset += 4 + int.from_bytes(blob[offset : offset + 4])
    return offset == len(blob)
