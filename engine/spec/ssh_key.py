"""Fingerprints of public ssh keys."""

from __future__ import annotations

import base64
import binascii
import hashlib

from sovctl.support.canonical_json import sha256_hex


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


def _is_whole(blob: bytes) -> bool:
    """Return whether a key consists of whole strings, each after its length (RFC 4253, 6.6)."""
    offset = 0
    while offset + 4 <= len(blob):
        offset += 4 + int.from_bytes(blob[offset : offset + 4])
    return offset == len(blob)
