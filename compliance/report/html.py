"""Renders the report as one HTML file without external resources, for screen and print."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from sovctl.support.html_templates import page_template

from ..evidence.freshness import is_stale

# In the order of the coverage bar.
STATES = {
    "fail": "A check failed on some target.",
    "error": "A check or target has no result. It does not count as passed.",
    "waived": "A failure accepted by a second person, with an expiry date.",
    "pass": "Every check passed on every target it applies to.",
    "attested": "Attested by a person, with an expiry date, without a check.",
    "n-a": "Every check reported that it does not apply.",
    "not-run": "No evidence, or only expired evidence.",
}
_NEEDS_ATTENTION = ("fail", "error", "waived")


def render_html(document: Mapping[str, Any]) -> str:
    """Return the HTML page of a report document (see `document.build_document`). Deterministic."""
    numbers = {item["sha256"]: number for number, item in enumerate(document["evidence"], start=1)}
    by_check: dict[str, list[dict[str, Any]]] = {}
    for found in document["evidence"]:
        item = found | {
            "stale": is_stale(found["record"]["expires"], found["record"]["verdict"], document["generated"])
        }
        by_check.setdefault(item["record"]["check_id"], []).append(item)
    controls = [control | {"checks": list(_checks(control, by_check))} for control in document["controls"]]
    return page_template("report", "report.html.j2").render(
        document=document,
        states=STATES,
        numbers=numbers,
        segments=[(state, document["summary"]["states"][state]) for state in STATES],
        families=list(_families(controls)),
        attention=[c for state in _NEEDS_ATTENTION for c in controls if c["state"] == state],
        decided=[control for control in controls if control["state"] != "not-run" or control["mapping"]],
        not_run=[control for control in controls if control["state"] == "not-run" and not control["mapping"]],
        other_checks=sorted(by_check.keys() - {check["id"] for control in controls for check in control["checks"]}),
        by_check=by_check,
    )


def _checks(control: Mapping[str, Any], by_check: Mapping[str, list[dict[str, Any]]]) -> Iterable[dict[str, Any]]:
    """Yield the checks of one control with their evidence and the targets without evidence."""
    for check in control["mapping"]["checks"] if control["mapping"] else []:
        items = sorted(by_check.get(check, []), key=lambda item: (item["record"]["target"], item["leaf_index"]))
        population = {target for item in items for target in item["record"]["population"]}
        missing = sorted(population - {item["record"]["target"] for item in items})
        yield {"id": check, "items": items, "missing": missing, "title": items[0]["record"]["title"] if items else ""}


def _families(controls: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    for family, members in groupby(controls, key=lambda control: control["family"]):
        states = [control["state"] for control in members]
        yield {"name": family, "total": len(states), "states": {state: states.count(state) for state in STATES}}
