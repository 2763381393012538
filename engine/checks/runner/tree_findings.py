"""Makes failed verifications of trees an input of the next plan, because a plan does not hash large files."""

from __future__ import annotations

from dataclasses import replace

from sovctl.compliance.verdict import Verdict

from ...resources.software.tree import TreeRecord, tree_id
from ...site import tree_records
from ...site.site import Site
from .run import RunResult

KINDS = {"model.checksum": "model", "software.environment-files": "environment"}
"""Resource types by check id. The subject of the check is the name of the resource."""


def store_findings(site: Site, run: RunResult) -> None:
    """Replace the findings of every tree that was verified. A verdict that is UNKNOWN leaves them unchanged."""
    known, changed = tree_records.load(site.state.trees), dict[tree_records.Key, TreeRecord]()
    for target, result in zip(run.targets, run.results, strict=True):
        if (kind := KINDS.get(target.check.id)) is None:
            continue
        key = (target.node, tree_id(kind, target.expectation.subject))
        if key in known and result.verdict in (Verdict.PASS, Verdict.FAIL):
            found = (result.reason,) if result.verdict is Verdict.FAIL else ()
            changed[key] = replace(known[key], findings=found)
    if changed:
        tree_records.save(site.state.trees, changed)
