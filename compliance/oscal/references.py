"""UUIDs of the parts of a report, and references to them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .names import uuid_of

Document = Mapping[str, Any]
"""The report, `report.json` as plain values."""

Items = Sequence[Mapping[str, Any]]
"""Evidence of one check, as in the report."""


def owner(document: Document) -> str:
    """Return the UUID of the operator of the site."""
    return uuid_of("party", document["subject"]["site"])


def scope(document: Document) -> tuple[str, str]:
    """Return the names that begin the names of everything about one site and pack."""
    return document["subject"]["site"], document["pack"]["name"]


def target_uuid(document: Document, target: str) -> str:
    """Return the UUID of a target."""
    return uuid_of("inventory-item", document["subject"]["site"], target)


def raw_uuid(sha256: str) -> str:
    """Return the UUID of the resource of a raw output."""
    return uuid_of("raw", sha256)


def observation_uuid(document: Document, check: str) -> str:
    """Return the UUID of the observation of a check in this run."""
    return uuid_of("observation", *scope(document), document["run"]["id"], check)


def finding_uuid(document: Document, control_id: str) -> str:
    """Return the UUID of the finding of a control, equal in all runs."""
    return uuid_of("finding", *scope(document), control_id)


def related_observations(
    checks: Sequence[str], document: Document, evidence: Mapping[str, Items]
) -> list[dict[str, Any]]:
    """Return the references to the observations of the checks that have evidence."""
    return [{"observation-uuid": observation_uuid(document, check)} for check in checks if check in evidence]
