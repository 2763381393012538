"""The checks of a run for which site.yaml declares no target, such as those of InfiniBand on a site without it.

A run records their ids as evidence: one record with check id `site.scope`, whose raw output is canonical JSON. Without
the record, a check without evidence is `not-run`, and its controls are undecided.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from sovctl.support.canonical_json import canonical_json

from ..evidence.store import StoredEvidence

CHECK_ID = "site.scope"
TITLE = "checks for which site.yaml declares no target"


def scope_output(nodes: Iterable[str], without_target: Iterable[str]) -> bytes:
    """Return the raw output of the record.

    Args:
        nodes: names of all nodes that site.yaml declares.
        without_target: ids of the checks that the run would include, and that have no target.
    """
    return canonical_json({"nodes": sorted(nodes), "without_target": sorted(without_target)})


def without_target(records: Iterable[StoredEvidence], raw: Callable[[str], bytes]) -> frozenset[str]:
    """Return the ids of the checks without a target, by the evidence of a run; empty without the record.

    Args:
        raw: returns the raw output with a digest.
    """
    found: set[str] = set()
    for record in records:
        if record.evidence.check_id == CHECK_ID:
            found |= set(json.loads(raw(record.evidence.raw_sha256))["without_target"])
    # A check with a record has a target.
    return frozenset(found - {record.evidence.check_id for record in records})
