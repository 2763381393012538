"""plan.empty-after-apply: a new plan of the site has no changes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.unreadable import MALFORMED, Unreadable
from ...model.check import Check, Expectation, Judgement, Level, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

_MAX_SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """The site that is planned again.

    Args:
        program: absolute path of `sovctl` on this controller.
        site_file, state: absolute paths.
        nodes: nodes that must all have been observed.
    """

    program: str
    site_file: str
    state: str
    nodes: tuple[str, ...]


class EmptyAfterApply(Check[Expected]):
    id, version, method = "plan.empty-after-apply", 1, Method.TEST
    title = "a new plan of the site has no changes"
    controls = ("cm-2", "cm-3", "cm-6")
    severity = Severity.HIGH
    level = Level.FULL
    remedy = "run `sovctl plan`, review the changes, and run `sovctl apply`"

    def expect_controller(self, site: CheckContext) -> Iterator[Expected]:
        """Expect this of every node of the site, planned from this controller."""
        yield Expected(
            program=site.controller.program,
            site_file=site.controller.site_file,
            state=site.controller.state,
            nodes=tuple(node.name for _, node in site.context.spec.nodes()),
        )

    def probe(self, expected: Expected) -> Probe:
        """Print a new plan of all nodes without saving it."""
        words = [expected.program, "plan", expected.site_file, "--state", expected.state, "--no-save", "--json"]
        return Probe({"plan": shlex.join(words)}, timeout_s=600)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the plan has no changes, and has the facts of every node."""
        section = parse_sections(output).section("plan")
        try:
            document = json.loads(section.text)
            changes = [str(change["id"]) for change in document["changes"]]
            observed = set(document["facts_sha256"])
        except MALFORMED:
            raise Unreadable("the document of `sovctl plan --json`", section.text, where="sovctl") from None
        if section.exit_code != 0:
            return unknown("exit code 0 of a plan", str(section.exit_code))
        if missing := sorted(set(expected.nodes) - observed):
            return unknown("facts of every node", f"none of {', '.join(missing)}")
        if changes:
            more = f" and {len(changes) - _MAX_SHOWN} more" if len(changes) > _MAX_SHOWN else ""
            return failed("an empty plan", f"{', '.join(changes[:_MAX_SHOWN])}{more}")
        return worst((), otherwise=f"expected an empty plan, got no changes on {len(expected.nodes)} nodes")
