"""Steps of applies as rows and lines of the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sovctl.compliance.evidence.apply_steps import ApplyStep
    from sovctl.compliance.ledger.format import Entry

HEADINGS = ("ID", "STATE", "EVENT", "NODES", "TIME", "ENTRY", "RUN")
_ID_DIGITS = 12
_PLAN_FIELDS = ("operator", "site_yaml_sha256", "spec_sha256")


def row(each: ApplyStep) -> tuple[str, ...]:
    """Return the cells of a step under `HEADINGS`."""
    nodes = ", ".join(each.nodes) or "-"
    name, time = each.sha256[:_ID_DIGITS], each.time[:19] or "-"
    return (name, each.state, each.event or "-", nodes, time, str(each.leaf_index), each.run)


def as_plain(each: ApplyStep) -> dict[str, Any]:
    """Return all values of a step, for JSON."""
    return {**vars(each), "id": each.sha256, "fields": dict(each.fields), "nodes": list(each.nodes)}


def with_plan(each: ApplyStep, journal: str, plan: Entry | None) -> dict[str, Any]:
    """Return a step with its file, and the ledger entry of its plan."""
    found = {name: plan.record.get(name) for name in _PLAN_FIELDS} | {"leaf_index": plan.leaf_index} if plan else None
    return as_plain(each) | {"journal": journal, "plan": found}


def fields(each: ApplyStep, journal: str, plan: Entry | None) -> Iterator[tuple[str, str]]:
    """Yield label and value of each field of a step."""
    yield "id", each.sha256
    yield "step", each.event + (" (simulated hardware)" if each.simulated else "")
    yield "time", each.time
    for name, value in each.fields.items():
        yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    yield "apply run", each.run
    yield "journal", f"{journal}, line {each.line}"
    yield "ledger entry", str(each.leaf_index)
    yield "plan", each.plan_sha256
    if plan is None:
        yield "planned", "no ledger entry of this plan"
    else:
        yield "planned", f"by {plan.record.get('operator')}, ledger entry {plan.leaf_index}"
        yield "site.yaml", str(plan.record.get("spec_sha256"))
