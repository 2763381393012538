"""Records of files in the state folder: the ledger has the SHA-256 of the newest content of each file.

    {"type": "plan", "state_files": {"plans/plan.json": "5f0c..."}, ...}

The record is appended before the file is written. `sovctl audit verify` compares the files with the newest record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sovctl.support.plain_json import sha256_hex

FIELD = "state_files"
"""Field of a record: SHA-256 by path relative to the state folder."""
PLAN, GATHER, WAIVERS, REPORT_SIGNED = TYPES = ("plan", "gather", "waivers", "report-signed")
"""Types of records with `FIELD`."""
MAX_FILES = 256
"""Files of one record; a record has at most 65,535 bytes, and a node name 63 characters."""


def digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the SHA-256 of each content."""
    return {name: sha256_hex(data) for name, data in files.items()}


def chunks(names: Sequence[str]) -> list[Sequence[str]]:
    """Return `names` in chunks of at most `MAX_FILES`; one empty chunk without names."""
    return [names[start : start + MAX_FILES] for start in range(0, len(names), MAX_FILES)] or [()]
