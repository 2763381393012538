"""Baseline of a node: files of /etc, accounts, addresses, mounts and more, as they were when the last apply ended.

A plan reports what differs from it. Apply records it on the node, and its digest on the controller. What differed
before an apply still differs after it, so that plans report it until it is reverted, or is in `unmanaged_allowed`.
While an apply is incomplete, plans report only what differed before it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

from sovctl.support.errors import SovctlError
from sovctl.support.package_files import package_folder, package_text

from ..facts.node import NodeFacts
from ..facts.survey import Thing, parse_survey
from ..facts.unreadable import Unreadable
from ..resources.attributes import expected
from ..resources.context import Context
from ..resources.resource_type import Query
from ..resources.services.unit import full_name
from ..spec import Node

PROGRAM = package_folder("engine/facts/probes") / "baseline_probe.py"
QUERY = "unmanaged-since-apply"


def comparison(context: Context, node: Node, queries: Iterable[Query]) -> list[str]:
    """Return the command that compares a node with its baseline.

    Args:
        queries: of all resource types on the node; their paths and units have rows of their own.
    """
    request = _request(context, node, queries) | {"action": "compare", "sha256": context.baselines[node.name].sha256}
    return ["python3", "-c", package_text(PROGRAM), json.dumps(request)]


def recording(context: Context, node: Node, queries: Iterable[Query]) -> tuple[list[str], str]:
    """Return the command that records the baseline of a node, and its standard input."""
    known = context.baselines.get(node.name)
    keep = sorted(known.differing or ()) if known else []
    request = _request(context, node, queries) | {"action": "record", "keep": keep}
    return ["python3", "-c", package_text(PROGRAM), "-"], json.dumps(request)


def _request(context: Context, node: Node, queries: Iterable[Query]) -> dict[str, Collection[str]]:
    queries = list(queries)
    paths = {path for query in queries for path in (*query.hash, *query.read)} | set(expected(context, node))
    return {
        "known": sorted(path for path in paths if path.startswith(("/etc", "/root")) and "*" not in path),
        "units": sorted({full_name(unit) for query in queries for unit in query.units}),
        "settings": sorted({key for query in queries for key in query.sysctls}),
    }


def differences(context: Context, facts: NodeFacts) -> list[Thing]:
    """Return what differs from the baseline of a node, and was not changed by an incomplete apply.

    Raises:
        SovctlError: the answer of the node is not a survey.
    """
    known = context.baselines.get(facts.node)
    if known is None:
        return []
    try:
        found = parse_survey(facts.answer(QUERY))
    except Unreadable as error:
        raise SovctlError(error.message, where=f"node {facts.node}: {QUERY}") from None
    return found if known.differing is None else [each for each in found if (each.kind, each.name) in known.differing]
