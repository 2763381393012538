"""Whether the site is still as site.yaml says: a new plan must be empty."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ...facts.unreadable import Unreadable
from ..model.check import Expectation, Judgement, ProbeOutput, failed, unknown, worst
from ..model.probe_sections import read_parts

SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class PlanExpectation(Expectation):
    """A site to be planned again.

    Args:
        program: absolute path of `sovctl` on this controller.
        site_file, state: absolute paths.
        nodes: that must all have been observed.
    """

    program: str
    site_file: str
    state: str
    nodes: tuple[str, ...]


def judge_plan(output: ProbeOutput, expectation: PlanExpectation) -> Judgement:
    """No change is left on any node, and every node was looked at."""
    part = read_parts(output).part("plan")
    try:
        document = json.loads(part.text)
        changes = [str(change["id"]) for change in document["changes"]]
        observed = set(document["facts_sha256"])
    except (ValueError, KeyError, TypeError):
        raise Unreadable("the document of `sovctl plan --json`", part.text, where="sovctl") from None
    if part.exit_code != 0:
        return unknown("exit code 0 of a plan", str(part.exit_code))
    if missing := sorted(set(expectation.nodes) - observed):
        return unknown("every node observed", f"none of {', '.join(missing)}")
    if changes:
        more = f" and {len(changes) - SHOWN} more" if len(changes) > SHOWN else ""
        return failed("an empty plan", f"{', '.join(changes[:SHOWN])}{more}")
    return worst((), otherwise=f"expected an empty plan, got no change on {len(expectation.nodes)} nodes")
