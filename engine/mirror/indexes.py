"""Indexes of a mirror, computed from its files: apt's Release, and the page of wheels for pip and uv. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from email.utils import format_datetime
from html import escape
from urllib.parse import quote

PACKAGES = "Packages"


def release(site: str, snapshot: str, indexes: Mapping[str, bytes], *, now: datetime) -> bytes:
    """Return the Release file of a flat repository (Debian wiki, DebianRepository/Format, 2026-11).

    It does not expire: nodes of a closed site have no newer one. `Snapshot` names the published bundle.

    Args:
        indexes: contents by name in the folder of the repository.
        now: in UTC.
    """
    lines = [
        f"Origin: {site}",
        f"Label: {site}",
        f"Description: packages of snapshot {snapshot}",
        f"Snapshot: {snapshot}",
        f"Date: {format_datetime(now, usegmt=True)}",
        "SHA256:",
        *(f" {hashlib.sha256(data).hexdigest()} {len(data)} {name}" for name, data in sorted(indexes.items())),
    ]
    return ("\n".join(lines) + "\n").encode()


def wheels_page(wheels: Mapping[str, str]) -> bytes:
    """Return a page for `--find-links` of pip and uv, with the SHA-256 of each wheel.

    Args:
        wheels: SHA-256 by file name.
    """
    links = "".join(
        f'<a href="{quote(name)}#sha256={sha256}">{escape(name)}</a><br>\n' for name, sha256 in sorted(wheels.items())
    )
    return f"<!DOCTYPE html>\n<html><body>\n{links}</body></html>\n".encode()
