"""Rows of a report for spreadsheets: controls, findings, evidence and open items. Pure.

Every table has the column `simulated`, because a row can be copied without the head of its file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..evidence.layout import NONE, declared_targets

Cell = str | int
Document = Mapping[str, Any]
_OPEN = ("fail", "error", "waived")
_ANSWERED = ("PASS", "N/A")


@dataclass(frozen=True)
class Table:
    """One table.

    Args:
        name: file name without ending, and name of the sheet.
        columns: names, in order.
        rows: cells in the order of the columns.
    """

    name: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]


def tables(document: Document) -> tuple[Table, ...]:
    """Return the tables of a report."""
    by_check: dict[str, list[Mapping[str, Any]]] = {}
    for item in document["evidence"]:
        by_check.setdefault(item["record"]["check_id"], []).append(item)
    return (
        Table("controls", _CONTROLS, [_control(each) for each in document["controls"]]),
        Table("findings", _FINDINGS, list(_findings(document, by_check))),
        Table("evidence", _EVIDENCE, [_evidence(document, each) for each in _sorted(document["evidence"])]),
        Table("poam", _POAM, list(_open_items(document))),
        Table("foreign", _FOREIGN, list(_foreign(document))),
    )


_CONTROLS = (
    *("control", "title", "family", "state", "simulated", "checks", "warnings", "reasons", "objectives", "because"),
    *("requires_people", "waivers", "attested_by", "attestation", "attestation_expires", "unverified"),
)


def _control(control: Mapping[str, Any]) -> tuple[Cell, ...]:
    mapping, attestation = control["mapping"] or {}, control["attestation"] or {}
    objectives = mapping.get("objectives", ())
    return (
        *(control[name] for name in ("id", "title", "family", "state")),
        _yes(control["simulated"]),
        ", ".join(mapping.get("checks", ())),
        control["warnings"],
        "\n".join(control["reasons"]),
        "\n".join(each["statement"] for each in objectives),
        mapping.get("because", ""),
        "\n".join(each["people"] for each in objectives),
        ", ".join(each["id"] for each in control["waivers"]),
        *(attestation.get(name, "") for name in ("by", "statement", "expires")),
        control.get("unsure", ""),
    )


_FINDINGS = ("control", "state", "check", "target", "verdict", "reason", "waiver", "simulated", "ledger_index", "raw")


def _findings(document: Document, by_check: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[tuple[Cell, ...]]:
    """Yield each result of an open control that is neither PASS nor N/A, and each target and check without a record."""
    for control in document["controls"]:
        for check in control["mapping"]["checks"] if control["mapping"] and control["state"] in _OPEN else ():
            items = _sorted(by_check.get(check, ()))
            for item in items:
                record = item["record"]
                if record["verdict"] not in _ANSWERED:
                    yield (
                        *(control["id"], control["state"], check, record["target"]),
                        *(record["verdict"], record["reason"], _waiver(control, check, record["target"])),
                        *(_yes(record["simulated"]), item["leaf_index"], f"raw/{record['raw_sha256']}"),
                    )
            due = {target for item in items for target in declared_targets(document, item["record"])}
            missing = sorted(due - {item["record"]["target"] for item in items}) if items else ["all targets"]
            for target in missing:
                yield (control["id"], control["state"], check, target, "UNKNOWN", "no record", "", "", "", "")


_EVIDENCE = (
    *("check", "version", "title", "target", "verdict", "reason", "simulated", "method", "started", "ended", "command"),
    *("exit_code", "actor", "tool_version", "population", "record_sha256", "raw", "ledger_index"),
    *("rule", "previous", "expires", "sample"),
)


def _evidence(document: Document, item: Mapping[str, Any]) -> tuple[Cell, ...]:
    record, population = item["record"], document["populations"][item["record"]["population_sha256"]]
    actor, previous = record["actor"], record["previous"]
    return (
        *(record[name] for name in ("check_id", "check_version", "title", "target", "verdict", "reason")),
        _yes(record["simulated"]),
        *(record[name] for name in ("method", "started", "ended", "command")),
        "" if record["exit_code"] is None else record["exit_code"],
        *(f"{actor['user']}@{actor['host']}", record["tool"]["version"], len(population["declared"])),
        *(item["sha256"], f"raw/{record['raw_sha256']}", item["leaf_index"]),
        *(record["rule"], previous if previous == NONE else previous["verdict"], record["expires"]),
        len(population["sampled"]),
    )


_POAM = (
    *("id", "kind", "title", "controls", "check", "targets", "severity", "owner", "detected", "deadline", "overdue"),
    *("reasons", "simulated"),
)


def _open_items(document: Document) -> Iterator[tuple[Cell, ...]]:
    """Yield the rows of the plan of action, in the order of the report."""
    for row in document.get("poam", ()):
        yield (
            *(
                row["id"],
                row["kind"],
                row["title"],
                ", ".join(f"{each['pack']} {each['control']}" for each in row["controls"]),
            ),
            *(row["check"], ", ".join(row["targets"]), row["severity"], row["owner"], row["detected"]),
            *(row["deadline"], _yes(row["is_overdue"]), "\n".join(row["reasons"]), _yes(document["simulated"])),
        )


_FOREIGN = (
    *("tool", "tool_version", "rule", "outcome", "title", "severity", "target", "controls", "file", "file_sha256"),
    *("imported", "ledger_index", "simulated"),
)


def _foreign(document: Document) -> Iterator[tuple[Cell, ...]]:
    """Yield the results of other tools that the report has. They decide no control."""
    for each in document.get("foreign", ()):
        source = each["source"]
        for row in each["rows"]:
            yield (
                *(source["tool"], source["tool_version"]),
                *(row[name] for name in ("rule", "outcome", "title", "severity", "target")),
                *(", ".join(row["controls"]), source["file"], source["sha256"]),
                *(each["imported"], each["leaf_index"], _yes(document["simulated"])),
            )


def _waiver(control: Mapping[str, Any], check: str, target: str) -> str:
    return ", ".join(each["id"] for each in control["waivers"] if each["check"] == check and target in each["targets"])


def _sorted(items: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(items, key=lambda each: (each["record"]["check_id"], each["record"]["target"], each["leaf_index"]))


def _yes(value: bool) -> str:
    return "yes" if value else "no"
