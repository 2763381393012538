"""Verifies the signatures of persons over a report: each covers all files, and k of n known keys signed.

    report/signatures/<key id>.dsse.json      a DSSE envelope with an in-toto statement; see docs/formats.md

A folder without signatures is valid unless keys are given. Signatures of unknown keys count as not verified.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..attestation import files_of, key_ids, verified
from ..verify_key import BadSignature, VerifyKey
from .files import content, file_names, parse_object

FOLDER = "signatures"
FILE = re.compile(FOLDER + r"/[0-9a-f]{16}\.dsse\.json")
MAX_SIGNATURE_BYTES = 4 << 20  # chosen; a statement has about 100 bytes for each file


@dataclass(frozen=True)
class Signers:
    """Keys of the persons that sign reports, kept outside the site.

    Args:
        keys: name and public key.
        required: number of keys that must have signed; 0 if no keys are given.
    """

    keys: tuple[tuple[str, VerifyKey], ...] = ()
    required: int = 0


def signature_file(key: VerifyKey) -> str:
    """Return the path of the signature of a key in the folder of a report."""
    return f"{FOLDER}/{key.keyid[:16]}.dsse.json"


def verify_signatures(
    folder: Path, expected: Mapping[str, str], signers: Signers
) -> tuple[list[tuple[str, str]], list[str], list[str]]:
    """Verify all signatures of a report.

    Args:
        expected: SHA-256 of each file that a signature must cover.

    Returns:
        Problems with their file, facts, and limits.
    """
    problems: list[tuple[str, str]] = []
    facts, unknown = [], 0
    names = {key: name for name, key in signers.keys}
    signed: set[VerifyKey] = set()
    files = [f"{FOLDER}/{name}" for name in file_names(folder / FOLDER)]
    for file in files:
        try:
            envelope = parse_object(content(folder / file, limit_bytes=MAX_SIGNATURE_BYTES) or b"")
            statement, keys = verified(envelope, names)
            problems += [(file, each) for each in _differences(files_of(statement), expected)]
        except (BadSignature, ValueError) as error:
            problems.append((file, f"{file}: {getattr(error, 'message', error)}"))
            continue
        unknown += not keys
        for key in keys:
            if signature_file(key) != file:
                problems.append((file, f"{file}: expected the name {signature_file(key)}"))
            signed.add(key)
            facts.append(f"signed by {names[key]} at {_time(statement)}")
        if not keys and not any(each[:16] in file for each in key_ids(envelope)):
            problems.append((file, f"{file}: expected the name of its key id"))
    if len(signed) < signers.required:
        text = f"expected signatures of {signers.required} of {len(signers.keys)} keys, got {len(signed)}"
        problems.append((FOLDER, f"{FOLDER}: {text}"))
    limits = [f"{unknown} signatures were not verified: their keys were not given."] if unknown else []
    return problems, facts, limits


def _differences(found: Mapping[str, str], expected: Mapping[str, str]) -> list[str]:
    uncovered = sorted(expected.keys() - found.keys())
    other = sorted(name for name, digest in found.items() if expected.get(name) != digest)
    return [f"{FOLDER}: {name} is not covered" for name in uncovered] + [
        f"{FOLDER}: {name} differs from the signed file" for name in other
    ]


def _time(statement: Mapping[str, Any]) -> str:
    return str(statement["predicate"].get("timeCreated", "an unknown time"))
