"""site.imports-approved: every published bundle was verified, scanned, and approved by a second person.

`sovctl import` enforces this. The check reads the records of all imports in the site's ledger again, so that software
that entered the site in another way of the same records is found, and reports show the sources of the software.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ....facts.unreadable import MALFORMED, Unreadable
from ...model.check import (
    Check,
    Expectation,
    Judgement,
    Method,
    Severity,
    failed,
    not_applicable,
    unknown,
    warned,
    worst,
)
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import ProbeSections, parse_sections

_BEFORE_PUBLISHING = ("opened", "received", "verified", "scanned", "approved")
"""States that precede `published`: `engine/bundle/intake/history.py`."""


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """`sovctl` and the site; absolute paths."""

    program: str
    site_file: str
    state: str


class ImportsApproved(Check[Expected]):
    id, version, method = "site.imports-approved", 1, Method.EXAMINE
    title = "every published bundle was verified, scanned, and approved by a second person"
    controls = ("si-3", "si-7.15", "sr-10", "sr-11", "sr-3")
    severity = Severity.HIGH
    remedy = "find the bundle with `sovctl import status`, and remove its files until a second person approves them"

    def expect_controller(self, site: CheckContext) -> Iterator[Expected]:
        """Expect this of all imports in the site's ledger."""
        controller = site.controller
        yield Expected(program=controller.program, site_file=controller.site_file, state=controller.state)

    def probe(self, expected: Expected) -> Probe:
        """Print the imports in the site's ledger."""
        words = [
            expected.program,
            "import",
            "status",
            "--site",
            expected.site_file,
            "--state",
            expected.state,
            "--json",
        ]
        return Probe.of(imports=shlex.join(["env", "PYTHONDONTWRITEBYTECODE=1", *words]))

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail for a missing step and for one person in both roles; warn about an import without virus scanner."""
        bundles = published_bundles(parse_sections(output))
        if not bundles:
            return not_applicable("published bundles", "none in the ledger")
        named = ", ".join(f"bundle {each['sequence']} of {each['created']}" for each in bundles)
        findings = [each for bundle in bundles for each in _findings(bundle)]
        return worst(findings, otherwise=f"expected every bundle scanned and approved, got {named}")


def published_bundles(sections: ProbeSections) -> list[Mapping[str, Any]]:
    """Return the published bundles in the output of the probe, in the order of the ledger.

    Raises:
        Unreadable: the output is not the document of `sovctl import status --json`.
    """
    text = sections.text("imports")
    try:
        bundles = [each for each in json.loads(text)["bundles"] if each["state"] == "published"]
        required = ("bundle", "sequence", "created", "states", "signers", "importer", "published", "files")
        if any(each[name] is None for each in bundles for name in required):
            raise ValueError("incomplete")
    except MALFORMED:
        raise Unreadable("the document of `sovctl import status --json`", text, where="sovctl") from None
    return bundles


def _findings(bundle: Mapping[str, Any]) -> Iterator[Judgement]:
    name = f"bundle {bundle['sequence']}"
    for state in _BEFORE_PUBLISHING:
        if state not in bundle["states"]:
            yield failed(f"{name} {state} before it was published", "no record in the ledger")
    keys = bundle.get("importer_keyid"), bundle.get("approver_keyid")
    if not all(keys):
        yield unknown(f"keys of importer and approver of {name}", "none in the ledger")
    elif keys[0] == keys[1] or bundle["importer"] == bundle.get("approver"):
        yield failed(f"a second person approves {name}", f"{bundle['importer']} in both roles")
    if bundle.get("scanner") in (None, "none"):
        yield warned(f"{name} scanned", f"no virus scanner, accepted by {bundle.get('accepted_by')}")
