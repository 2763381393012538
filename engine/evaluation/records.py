"""Evaluations of pools in the state folder: `evaluations/POOL/TIME.json`, and `partial.json` of one that runs.

Each result is a record of the ledger, which is appended before the file is written.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sovctl.support.atomic_files import write_atomic
from sovctl.support.canonical_json import digest

from ..facts.unreadable import Unreadable
from .marks import Evaluation

FOLDER = "evaluations"
_UNREADABLE = (OSError, ValueError, RecursionError, Unreadable)


def evaluations_of(root: Path, pool: str) -> list[Evaluation]:
    """Return the readable evaluations of a pool, the oldest first."""
    found = []
    for path in sorted((root / FOLDER / pool).glob("2*.json")):
        try:
            each = Evaluation.from_json(json.loads(path.read_bytes()))
        except _UNREADABLE:
            continue
        if each.pool == pool:
            found.append(each)
    return found


def all_evaluations(root: Path) -> list[Evaluation]:
    """Return the readable evaluations of all pools, also of removed ones, the oldest first."""
    pools = sorted(each.name for each in (root / FOLDER).glob("*") if each.is_dir())
    return sorted((each for pool in pools for each in evaluations_of(root, pool)), key=lambda each: each.time)


def ledger_record(site: str, found: Evaluation, *, operator: str, passed: bool) -> dict[str, Any]:
    """Return the ledger record of an evaluation."""
    return {
        "type": "pool-evaluated",
        "time": found.time,
        "site": site,
        "pool": found.pool,
        "model": found.model,
        "model_sha256": found.model_sha256,
        "operator": operator,
        "questions_sha256": found.questions_sha256,
        "total": found.total,
        "correct": found.correct,
        "passed": passed,
        "asked": found.asked,
        "record_sha256": digest(found.to_json()),
    }


def save(root: Path, found: Evaluation) -> Path:
    """Write the file of an evaluation, remove the partial one, and return the path."""
    path = root / FOLDER / found.pool / f"{found.time.replace(':', '')}.json"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomic(path, json.dumps(found.to_json(), indent=1) + "\n", mode=0o600)
    (path.parent / "partial.json").unlink(missing_ok=True)
    return path


def load_partial(root: Path, pool: str, key: str) -> dict[str, dict[str, Any]]:
    """Return the marks of an interrupted evaluation by id; empty if it had other questions, model or engine.

    Args:
        key: digest of these.
    """
    try:
        found = json.loads((root / FOLDER / pool / "partial.json").read_bytes())
        if found["key"] == key:
            marks: dict[str, dict[str, Any]] = found["marks"]
            return {
                name: {"correct": bool(each["correct"]), "tokens": int(each["tokens"]), "s": float(each["s"])}
                for name, each in marks.items()
            }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    return {}


def save_partial(root: Path, pool: str, key: str, marks: dict[str, dict[str, Any]]) -> None:
    """Write the marks so far. They contain ids, and no question and no answer."""
    path = root / FOLDER / pool / "partial.json"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomic(path, json.dumps({"key": key, "marks": marks}) + "\n", mode=0o600)
