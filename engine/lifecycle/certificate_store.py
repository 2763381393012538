"""Certificates of nodes in the state folder: `certificates/NODE.json`, and `NODE.void.json` after a part changed."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from sovctl.compliance.signing import VerifyKey, load
from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import InputError

from . import node_certificate

FOLDER = "certificates"
LIMIT_BYTES = 8 << 20


def save(root: Path, node: str, signed: dict[str, Any]) -> Path:
    """Store a new certificate of a node; it replaces an earlier one and its mark of voidness."""
    path = root / FOLDER / f"{node}.json"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    write_atomic(path, json.dumps(signed, indent=1) + "\n", mode=0o600)
    path.with_suffix(".void.json").unlink(missing_ok=True)
    return path


def read(path: Path) -> dict[str, Any]:
    """Return the signed document in a file.

    Raises:
        InputError: the file is absent, too large or has another form.
    """
    try:
        if not path.is_file() or path.stat().st_size > LIMIT_BYTES:
            raise InputError("expected a certificate file", where=str(path), hint="sovctl node certify NODE")
        signed = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot read the certificate: {error.strerror}", where=str(path)) from None
    except (ValueError, RecursionError):
        raise InputError("expected JSON", where=str(path)) from None
    if not isinstance(signed, dict):
        raise InputError("expected a JSON object", where=str(path))
    try:
        node_certificate.document_of(signed)
    except InputError as error:
        raise InputError(str(error), where=str(path)) from None
    return signed


def void(root: Path, node: str, *, time: str, run: str, changes: Sequence[str]) -> None:
    """Record that parts of a certified node changed. The certificate itself is not edited."""
    path = root / FOLDER / f"{node}.void.json"
    if not path.exists():
        write_atomic(
            path, json.dumps({"time": time, "run": run, "changes": list(changes)}, indent=1) + "\n", mode=0o600
        )


def drop(root: Path, node: str) -> None:
    """Delete the certificate of a retired node. The ledger keeps the digest of its evidence."""
    for name in (f"{node}.json", f"{node}.void.json"):
        (root / FOLDER / name).unlink(missing_ok=True)


def void_reasons(root: Path, node: str) -> list[str]:
    """Return the changes that voided the certificate of a node; an unreadable record voids it too."""
    path = root / FOLDER / f"{node}.void.json"
    if not path.exists():
        return []
    try:
        return [f"void since {json.loads(path.read_text())['time']}: {each}" for each in _changes(path)]
    except (OSError, ValueError, KeyError, TypeError):
        return ["void: unreadable record"]


def problems_of(root: Path, node: str, key: VerifyKey, *, now: datetime) -> list[str]:
    """Return the reasons why a node has no valid certificate; empty if it has one."""
    path = root / FOLDER / f"{node}.json"
    if not path.exists():
        return ["no certificate"]
    try:
        signed = read(path)
        if signed["certificate"]["node"] != node:
            return [f"certificate of node {signed['certificate']['node']}"]
        return node_certificate.problems(signed, key, now=now) + void_reasons(root, node)
    except InputError as error:
        return [str(error)]


def has_any(root: Path) -> bool:
    """Return whether a certificate was issued, including an expired one."""
    return any((root / FOLDER).glob("*.json"))


def uncertified(root: Path, nodes: Collection[str], key_file: Path, *, now: datetime) -> dict[str, list[str]]:
    """Return the nodes without a valid certificate, with the reasons. Without a readable key no node has one."""
    try:
        key = load(key_file).public
    except InputError:
        return {node: ["no certificate"] for node in nodes}
    found = {node: problems_of(root, node, key, now=now) for node in nodes}
    return {node: reasons for node, reasons in found.items() if reasons}


def _changes(path: Path) -> list[str]:
    return [str(each) for each in json.loads(path.read_text())["changes"]]
