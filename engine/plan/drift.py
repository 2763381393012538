"""Differences of a site as JSON lines, for a monitoring system: one object for each difference, then a summary."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from sovctl.support.errors import InputError

from .file import Plan


def lines(plan: Plan, *, now: datetime) -> list[str]:
    """Return the differences in the order of the plan, the unobserved nodes, and a summary as the last line.

    Args:
        now: UTC.
    """
    head = {"time": now.strftime("%Y-%m-%dT%H:%M:%SZ"), "site": plan.site, "simulated": plan.simulated}
    found = [{**head, "event": "difference", **change.to_json()} for change in plan.changes]
    found += [{**head, "event": "unknown", "node": name, "why": reason} for name, reason in plan.unknown.items()]
    summary = {
        "event": "summary",
        "nodes": len(plan.facts_sha256),
        "differences": len(plan.changes),
        "unknown": len(plan.unknown),
    }
    return [json.dumps(each, sort_keys=True, ensure_ascii=False) for each in [*found, {**head, **summary}]]


def append_lines(path: Path, texts: Sequence[str]) -> None:
    """Append lines to a file with one write, so that lines of two processes are not mixed.

    Raises:
        InputError: the file cannot be written.
    """
    data = "".join(f"{text}\n" for text in texts).encode()
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
        try:
            os.write(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise InputError(f"cannot write: {(error.strerror or 'unknown reason').lower()}", where=str(path)) from None
