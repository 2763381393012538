"""Records the baselines of nodes after an apply.

What differs before the apply is stored first, so that a killed and resumed apply does not report its own changes.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from ..facts.node import NodeFacts
from ..plan.baseline import differences, recording
from ..plan.build import queries_on
from ..resources.context import Baseline, Context
from ..resources.resource import Change
from ..site import baseline_records
from ..site.site import Site
from .progress import Progress, Report
from .remote import Answer, run_on

_LIMIT_S = 60.0
_LANES = 16  # as many nodes at once as other commands of an apply


def store_differences(
    site: Site, context: Context, facts: Mapping[str, NodeFacts], changes: Collection[Change]
) -> None:
    """Store what differs from the baselines of nodes before they are changed, without what the changes correct."""
    found = {}
    corrected = {(change.node, change.name) for change in changes}
    for name in {change.node for change in changes}:
        known = context.baselines.get(name)
        if known is not None and known.differing is None:
            rows = [each for each in differences(context, facts[name]) if (name, each.name) not in corrected]
            differing = frozenset((each.kind, each.name) for each in rows)
            found[name] = replace(known, differing=differing)
    baseline_records.save(site.state.root, found)


def record_baselines(site: Site, context: Context, nodes: Collection[str], *, report: Report) -> None:
    """Record the baselines of nodes without one, and of those whose differences were stored.

    A node where it fails keeps its old baseline until the next apply that changes it.

    Args:
        nodes: that were observed.
    """
    current = {name for name, known in context.baselines.items() if known.differing is None}
    pending = [name for name in nodes if name not in context.removed_names and name not in current]

    def record(name: str) -> Answer:
        node = context.nodes[name]
        argv, stdin = recording(context, node, queries_on(context, node))
        return run_on(site.spec, site.folder, [name], argv, timeout_s=_LIMIT_S, stdin=stdin)[name]

    with ThreadPoolExecutor(_LANES) as lanes:
        answers = list(lanes.map(record, pending))
    recorded = {}
    for name, answer in zip(pending, answers, strict=True):
        try:
            recorded[name] = Baseline(str(json.loads(answer.output)["sha256"]))
        except (ValueError, KeyError, TypeError):
            report(Progress("failed", name, f"the baseline was not recorded: {answer.error[-200:] or 'no answer'}"))
    baseline_records.save(site.state.root, recorded)
