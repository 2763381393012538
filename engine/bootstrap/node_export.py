"""Exports of managers that installed the nodes: MAAS, Foreman, or a CSV file of any manager.

- `maas`: `maas PROFILE machines read`, a JSON list with `hostname`, `ip_addresses`, `interface_set[].mac_address`.
- `foreman`: `GET /api/hosts`, JSON with `results[]` of `name`, `ip`, `mac`.
- `csv`: columns `name`, `address`; `mac` and `fingerprint` may be empty or absent.

Only CSV has fingerprints of host keys.
Base Command Manager: write the CSV from `cmsh -c "device; list -f hostname,ip,mac"`, and add the fingerprints.
Unknown columns of CSV are refused; other fields of JSON are ignored. Pure: text in, values out.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sovctl.support.errors import InputError

_COLUMNS = {"name", "address", "mac", "fingerprint"}


class ExportFormat(StrEnum):
    """Format of an export."""

    MAAS = "maas"
    FOREMAN = "foreman"
    CSV = "csv"


@dataclass(frozen=True)
class ExportedNode:
    """A node of an export.

    Args:
        name: host name without domain.
        addresses: all of them.
        macs: of its interfaces, in lower case.
        fingerprint: of its host key; None if the export lacks it.
    """

    name: str
    addresses: tuple[str, ...]
    macs: tuple[str, ...]
    fingerprint: str | None = None


def parse_export(text: str, kind: ExportFormat, *, where: str) -> dict[str, ExportedNode]:
    """Return the nodes of an export by name.

    Raises:
        InputError: another format, or a name is repeated.
    """
    try:
        nodes = [*_READERS[kind](text)]
    except (ValueError, KeyError, TypeError, AttributeError, csv.Error) as error:
        hint = "docs/bootstrap.md describes the formats"
        raise InputError(
            f"not an export of the format {kind.value} ({type(error).__name__})", where=where, hint=hint
        ) from None
    found = {node.name: node for node in nodes}
    if len(found) != len(nodes):
        raise InputError("a name is repeated", where=where)
    return found


def _maas(text: str) -> Iterable[ExportedNode]:
    for machine in _listed(json.loads(text)):
        macs = [each["mac_address"] for each in machine.get("interface_set") or []]
        yield _node(machine["hostname"], machine.get("ip_addresses") or [], macs)


def _foreman(text: str) -> Iterable[ExportedNode]:
    document = json.loads(text)
    for host in _listed(document["results"] if isinstance(document, dict) else document):
        yield _node(host["name"], [host["ip"]] if host.get("ip") else [], [host["mac"]] if host.get("mac") else [])


def _csv(text: str) -> Iterable[ExportedNode]:
    reader = csv.DictReader(io.StringIO(text), strict=True)
    columns = set(reader.fieldnames or ())
    if not {"name", "address"} <= columns <= _COLUMNS:
        raise ValueError("unknown or missing columns")
    for row in reader:
        macs = [row["mac"]] if row.get("mac") else []
        yield _node(row["name"], [row["address"]], macs, row.get("fingerprint") or None)


def _node(name: str, addresses: Iterable[str], macs: Iterable[str], fingerprint: str | None = None) -> ExportedNode:
    return ExportedNode(
        name.partition(".")[0], tuple(map(str, addresses)), tuple(mac.lower() for mac in macs), fingerprint
    )


def _listed(value: Any) -> list[Mapping[str, Any]]:
    if not isinstance(value, list):
        raise TypeError("expected a list")
    return value


_READERS = {ExportFormat.MAAS: _maas, ExportFormat.FOREMAN: _foreman, ExportFormat.CSV: _csv}
