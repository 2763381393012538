"""Names of evidence files, and the ledger leaf of a record. Imports the standard library only.

    evidence/raw/<sha256>                                        raw output, stored once for equal outputs
    evidence/populations/<sha256>                                population, stored once for equal ones
    evidence/runs/<run id>/<check>.<target>.<12 digits>.json     the record; the digits begin its SHA-256

Check, target and digests are in the leaf, so that the leaf determines the name and the content of a record file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

RAW, RUNS, POPULATIONS = "raw", "runs", "populations"
EVIDENCE_FORMAT = "sovctl-evidence-v2"
"""Field `format` of records. Records of earlier releases lack fields, and do not count as evidence."""
NONE, NOT_MEASURED = "none", "not measured"
"""Stated values of a record: there was no apply or earlier result; the clock's offset is unknown."""
GATE = "gate-"
"""Beginning of the ids of runs between the waves of an apply. They cover few checks: no report is made of them."""
_RUN_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,79}")
_UNSAFE = re.compile(r"[^0-9A-Za-z._-]")
_LEAF_FIELDS = ("raw_sha256", "population_sha256", "check_id", "target", "verdict", "simulated")


def is_run_id(run_id: object) -> bool:
    """Return whether a run id is valid as the name of a folder."""
    return isinstance(run_id, str) and _RUN_ID.fullmatch(run_id) is not None


def is_sha256(value: object) -> bool:
    """Return whether a value is a SHA-256 in lower-case hexadecimal digits, and so a valid name of a raw file."""
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value) is not None


def record_file_name(check_id: str, target: str, digest: str) -> str:
    """Return the name of the file of a record with the given SHA-256."""
    return f"{_UNSAFE.sub('_', f'{check_id}.{target}')[:120]}.{digest[:12]}.json"


def leaf_of(record: Mapping[str, Any], digest: str, run_id: str) -> dict[str, Any]:
    """Return the ledger leaf of a record. See docs/ledger-records.md."""
    fields = _LEAF_FIELDS if is_current(record) else [each for each in _LEAF_FIELDS if each != "population_sha256"]
    return {"type": "evidence", "run_id": run_id, "sha256": digest} | {name: record[name] for name in fields}


def declared_targets(document: Mapping[str, Any], record: Mapping[str, Any]) -> list[str]:
    """Return the declared targets of the check of a record.

    Args:
        document: a report, which has each population once.
    """
    found: list[str] = document["populations"][record["population_sha256"]]["declared"]
    return found


def is_current(record: Mapping[str, Any]) -> bool:
    """Return whether a record has the format of this release."""
    return record.get("format") == EVIDENCE_FORMAT
