"""Digest of the declaration of a check, so that evidence states which form of a check decided."""

from __future__ import annotations

import inspect
from functools import cache
from pathlib import Path
from typing import Any

from sovctl.support.canonical_json import digest, sha256_hex

from ..model.check import Check


@cache
def declaration_sha256(kind: type[Check[Any]]) -> str:
    """Return the digest of the properties of a check, and of the source file of its class.

    Code that several checks share is outside of this file; the digest of the distribution covers it.
    """
    return digest(
        {
            "id": kind.id,
            "version": kind.version,
            "title": kind.title,
            "controls": list(kind.controls),
            "method": kind.method.value,
            "severity": kind.severity.value,
            "level": kind.level.value,
            "is_active": kind.is_active,
            "remedy": kind.remedy,
            "source_sha256": source_sha256(inspect.getfile(kind)),
        }
    )


def source_sha256(path: str) -> str:
    """Return the SHA-256 of a source file of the package."""
    return sha256_hex(Path(path).read_bytes())
