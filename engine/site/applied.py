"""Site descriptions that were applied completely: kept in the state folder, for `sovctl apply --rollback`.

- The newest description that differs from site.yaml is the one before: also if the apply of site.yaml failed half way.
- Locks are part of sovctl. A description that was applied with other locks needs the version of sovctl that has them.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from sovctl.support.atomic_files import write_atomic
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError, PlanStale

from ..resources.context import Context


@dataclass(frozen=True)
class Applied:
    """One applied site description.

    Args:
        run: of the apply.
        text_sha256: SHA-256 of the file's bytes.
        spec_sha256: SHA-256 of its values.
        locks: SHA-256 of the locks of Python environments, and ID of the driver lock, by name.
    """

    run: str
    text_sha256: str
    spec_sha256: str
    plan_sha256: str
    sovctl_version: str
    locks: dict[str, str]


def locks_of(context: Context) -> dict[str, str]:
    """Return the digests of the locks of a site."""
    digests = {name: sha256_hex(path.read_bytes()) for name, path in context.locks.items()}
    return {**digests, "driver": context.lock.id}


def keep(folder: Path, applied: Applied, data: bytes) -> None:
    """Store a site description; the record is written last."""
    write_atomic(folder / f"{applied.run}.yaml", data, mode=0o600)
    write_atomic(folder / f"{applied.run}.json", json.dumps(asdict(applied), indent=1) + "\n", mode=0o600)


def previous(folder: Path, *, current_spec_sha256: str) -> tuple[Applied, bytes]:
    """Return the newest applied description with other values than site.yaml, and its bytes.

    Raises:
        InputError: no description matches, or its file was changed.
    """
    for path in sorted(folder.glob("*.json"), reverse=True):
        found = _read(path)
        if found.spec_sha256 != current_spec_sha256:
            return found, _data(path.with_suffix(".yaml"), found)
    raise InputError(
        "no earlier site description was applied completely",
        where=str(folder),
        hint="restore an earlier site.yaml from version control, then: sovctl plan",
    )


def of_plan(folder: Path, *, spec_sha256: str) -> tuple[Applied, bytes]:
    """Return the newest applied description with given values, to resume its rollback.

    Raises:
        InputError: no description matches, or its file was changed.
    """
    for path in sorted(folder.glob("*.json"), reverse=True):
        found = _read(path)
        if found.spec_sha256 == spec_sha256:
            return found, _data(path.with_suffix(".yaml"), found)
    raise InputError("the saved plan does not belong to a rollback", where=str(folder), hint="omit --rollback")


def newest(folder: Path) -> tuple[Applied, bytes] | None:
    """Return the newest applied description and its bytes; None without one.

    Raises:
        InputError: its file was changed.
    """
    for path in sorted(folder.glob("*.json"), reverse=True):
        found = _read(path)
        return found, _data(path.with_suffix(".yaml"), found)
    return None


def check_locks(applied: Applied, context: Context) -> None:
    """Check that this sovctl has the locks of an applied description.

    Raises:
        PlanStale: a lock differs.
    """
    now = locks_of(context)
    if changed := sorted(
        name for name in applied.locks.keys() | now.keys() if applied.locks.get(name) != now.get(name)
    ):
        raise PlanStale(
            f"expected the locks of sovctl {applied.sovctl_version}, got others: {', '.join(changed)}",
            hint=f"install sovctl {applied.sovctl_version}, then: sovctl apply --rollback",
        )


def _read(path: Path) -> Applied:
    try:
        return Applied(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        raise InputError("unreadable record of an applied site description", where=str(path)) from None


def _data(path: Path, applied: Applied) -> bytes:
    data = path.read_bytes() if path.is_file() else b""
    if sha256_hex(data) != applied.text_sha256:
        raise InputError("the applied site description was changed or removed", where=str(path))
    return data
