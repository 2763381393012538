"""Records of the baselines of nodes on the controller.

baselines.json    {"n1": {"sha256": digest of the file on the node, "differing": [["address", "192.0.2.7/32"]] or null}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import InputError

from ..resources.context import Baseline

_FILE = "baselines.json"


def load(root: Path) -> dict[str, Baseline]:
    """Return the records by node; empty before the first apply.

    Args:
        root: state folder.

    Raises:
        InputError: the file was changed by hand.
    """
    path = root / _FILE
    try:
        return {node: _record(**value) for node, value in json.loads(path.read_text()).items()}
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, AttributeError):
        raise InputError(
            "not a file with records of baselines",
            where=str(path),
            hint="restore the state folder from a backup; or remove the file, and the next apply records new baselines",
        ) from None


def save(root: Path, changed: Mapping[str, Baseline]) -> None:
    """Add or replace records."""
    if changed:
        _write(root, {**load(root), **changed})


def drop(root: Path, node: str) -> None:
    """Remove the record of a node."""
    known = load(root)
    if known.pop(node, None):
        _write(root, known)


def _record(*, sha256: str, differing: list[list[str]] | None) -> Baseline:
    if not isinstance(sha256, str):
        raise TypeError
    return Baseline(
        sha256, None if differing is None else frozenset((str(kind), str(name)) for kind, name in differing)
    )


def _write(root: Path, records: Mapping[str, Baseline]) -> None:
    values = {
        node: {"sha256": each.sha256, "differing": None if each.differing is None else sorted(each.differing)}
        for node, each in sorted(records.items())
    }
    write_atomic(root / _FILE, json.dumps(values, indent=1) + "\n", mode=0o600)
