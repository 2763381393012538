"""Renders the report as one HTML file without external resources, for screen and print.

- The page is complete without its script, which only filters, searches and opens parts.
- The content security policy permits the one script by its SHA-256, and no request. Styles are `unsafe-inline` because
  drawings have styles of their own.
- Like nodes share a column of the heat map, and like records share their description. Every record keeps a row.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from sovctl.support.html_templates import page_template

from ..evidence.freshness import is_stale
from .first_screen import headline, scope_sentence, tiles
from .heat_map import heat_map
from .register import CheckBlock, check_blocks

# In the order of the coverage bar. The sign is for the cells of wide heat maps.
STATES = {
    "fail": ("✗", "A check failed on some target."),
    "error": ("?", "A check or target has no result. It does not count as passed."),
    "waived": ("W", "A failure accepted by a second person, with an expiry date."),
    "pass": ("✓", "Every check passed on every target it applies to."),
    "attested": ("A", "Attested by a person, with an expiry date, without a check."),
    "n-a": ("–", "Every check reported that it does not apply."),
    "not-run": ("·", "No evidence, or only expired evidence."),
}
MAX_COLUMNS_WITH_WORDS = 14
"""Columns of the heat map up to which a cell has the word of its state; above, its sign."""
MAX_RECORDS_WITH_PROOF = 2000
"""Records up to which the page has the audit path of each. Above, it has those of records other than PASS and N/A only,
because 15 hashes for each of 20,000 records are 13 MB; `report.json` has them."""
FILE_TITLES = {
    "report.json": "this report as data",
    "checkpoint": "signed head of the ledger; keep a copy outside the site",
    "log.vkey": "public key of the ledger; keep a copy outside the site",
    "report.tlog-proof": "proof that this report is in the ledger",
    "sovctl-verify.pyz": "verifier for Python 3.11 without packages",
}


def render_html(
    document: Mapping[str, Any], *, files: Iterable[str] = (), paper: bool = False, has_details: bool = True
) -> str:
    """Return the HTML page of a report document (see `document.build_document`). Deterministic.

    Args:
        files: further files of the report folder, which the page links, such as `oscal/poam.json`.
        paper: without script and with all parts open, for `pdf.render_pdf`.
        has_details: False: tables of all controls and checks, and details of those with a problem only.
    """
    numbers = {item["sha256"]: number for number, item in enumerate(document["evidence"], start=1)}
    by_check = _by_check(document)
    blocks = check_blocks(by_check, numbers)
    controls = [control | {"checks": list(_checks(control, blocks))} for control in document["controls"]]
    heat = heat_map(document["controls"], by_check, numbers)
    shown = [control for control in controls if control["mapping"] or control["state"] == "attested"]
    needed = {check["id"] for control in controls for check in control["checks"]}
    rows = document["poam"]
    script = page_template("report", "report.js").render()
    return page_template("report", "report.html.j2").render(
        document=document,
        paper=paper,
        has_details=has_details,
        script=Markup(script),  # noqa: S704 - the file of the package, without values
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        states={state: meaning for state, (_, meaning) in STATES.items()},
        signs={state: sign for state, (sign, _) in STATES.items()},
        numbers=numbers,
        headline=headline(document),
        tiles=tiles(document),
        scope=scope_sentence(document, heat.columns),
        segments=[(state, document["summary"]["states"][state]) for state in STATES],
        findings=[row for row in rows if row["kind"] == "finding"],
        unmeasured=[row for row in rows if row["kind"] == "unmeasured"],
        exceptions=[row for row in rows if row["kind"] in ("waived", "deviation")],
        attested=[control for control in controls if control["attestation"]],
        heat=heat,
        has_words=len(heat.columns) <= MAX_COLUMNS_WITH_WORDS,
        controls=shown,
        not_run=[control for control in controls if control["state"] == "not-run"],
        blocks=blocks,
        other_failures=[
            (block, row)
            for check, block in blocks.items()
            if check not in needed
            for group, row in block.notable
            if group.verdict == "FAIL"
        ],
        used_by=_used_by(controls),
        has_all_proofs=len(numbers) <= MAX_RECORDS_WITH_PROOF,
        files=[
            (name, FILE_TITLES.get(name, ""))
            for name in (*FILE_TITLES, *sorted({*files} - {*FILE_TITLES, "report.html"}))
        ],
    )


def _by_check(document: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for each in document["evidence"]:
        record = each["record"]
        stale = is_stale(record["expires"], record["verdict"], document["generated"])
        item = each | {"stale": stale, "population": document["populations"][record["population_sha256"]]}
        found.setdefault(record["check_id"], []).append(item)
    return found


def _checks(control: Mapping[str, Any], blocks: Mapping[str, CheckBlock]) -> Iterable[dict[str, Any]]:
    """Yield the checks of one control with their evidence; `block` is None for a check that was not run."""
    for check in control["mapping"]["checks"] if control["mapping"] else []:
        yield {"id": check, "block": blocks.get(check)}


def _used_by(controls: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the ids of the controls that need a check, in the order of the framework."""
    found: dict[str, list[str]] = {}
    for control in controls:
        for check in control["checks"]:
            found.setdefault(check["id"], []).append(control["id"])
    return found
