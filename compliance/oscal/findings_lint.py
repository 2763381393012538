"""Lint of findings and waivers: nothing counts as satisfied without evidence, and no waiver lasts for ever. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from .package_index import Node, PackageIndex, property_of

_WAIVED = "deviation-approved"


def lint_findings(index: PackageIndex) -> Iterator[str]:
    """Yield findings that contradict their state or evidence, and controls without a finding."""
    with_evidence = {
        str(node.value["uuid"])
        for node in index.of_kind("observations", root="assessment-results")
        if node.value.get("relevant-evidence")
    }
    approved = {
        str(node.value["uuid"])
        for node in index.of_kind("risks", root="assessment-results")
        if node.value.get("status") == _WAIVED
    }
    for result in index.of_kind("results", root="assessment-results"):
        yield from _coverage(result, index)
    for node in index.of_kind("findings", root="assessment-results"):
        yield from _finding(node, with_evidence, approved)


def lint_waivers(index: PackageIndex) -> Iterator[str]:
    """Yield waivers without a deadline, or without an item of the POA&M."""
    planned = {
        str(each["risk-uuid"])
        for node in index.of_kind("poam-items", root="plan-of-action-and-milestones")
        for each in node.value.get("related-risks", ())
    }
    for node in index.of_kind("risks", root="assessment-results"):
        if node.value.get("status") == _WAIVED:
            if "deadline" not in node.value:
                yield f"{node}: a waiver without a deadline"
            if node.value["uuid"] not in planned:
                yield f"{node}: no item of the plan of action and milestones refers to this waiver"


def _finding(node: Node, with_evidence: set[str], approved: set[str]) -> Iterator[str]:
    status, state = node.value["target"]["status"], property_of(node.value, "state")
    related = {str(each["observation-uuid"]) for each in node.value.get("related-observations", ())}
    is_satisfied = status["state"] == "satisfied"
    if is_satisfied != (state == "pass"):
        yield f"{node}: expected satisfied if and only if the state is pass, got {status['state']} for {state}"
    if is_satisfied != (status.get("reason") == "pass"):
        yield f"{node}: {status['state']} with the reason {status.get('reason')}"
    if not is_satisfied and not status.get("remarks"):
        yield f"{node}: not satisfied, without a reason in words"
    if is_satisfied and not related & with_evidence:
        yield f"{node}: satisfied, without an observation that has evidence"
    if not is_satisfied and not related and status.get("reason") != "other":
        yield f"{node}: {status.get('reason')} without an observation"
    risks = {str(each["risk-uuid"]) for each in node.value.get("related-risks", ())}
    if state == "waived" and not risks & approved:
        yield f"{node}: waived, without an approved risk"


def _coverage(result: Node, index: PackageIndex) -> Iterator[str]:
    """Yield the selected controls without exactly one finding."""
    statements = {f"{each}_smt": each for each in index.selected}
    found = Counter(str(each["target"]["target-id"]) for each in result.value.get("findings", ()))
    for statement, control in sorted(statements.items()):
        if found[statement] != 1:
            yield f"{result}: expected one finding of {control}, got {found[statement]}"
