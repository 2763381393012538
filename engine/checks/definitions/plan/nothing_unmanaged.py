"""plan.nothing-unmanaged: a node has no file, program, unit, account or listener of neither a package nor sovctl.

WARN with `unmanaged: report` in site.yaml, FAIL with `unmanaged: refuse`; things in `unmanaged_allowed` pass.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ....facts.survey import Thing, parse_survey
from ....plan import baseline
from ....plan.build import queries_on
from ....plan.unmanaged import commands
from ....spec import Node, UnmanagedRule
from ...model.check import Check, Expectation, Judgement, Level, Method, Severity, failed, warned, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """The surveys of one node.

    Args:
        surveys: name and command of each survey.
        allowed: patterns of `site.yaml: unmanaged_allowed`.
        is_refused: whether `site.yaml: unmanaged` is `refuse`.
    """

    surveys: tuple[tuple[str, tuple[str, ...]], ...]
    allowed: tuple[str, ...]
    is_refused: bool


class NothingUnmanaged(Check[Expected]):
    id, version, method = "plan.nothing-unmanaged", 2, Method.EXAMINE
    title = "a node has only files, programs, units, accounts and listeners of packages or sovctl"
    controls = ("cm-11", "cm-3", "cm-7", "si-7")
    severity = Severity.MEDIUM
    level = Level.FULL
    remedy = "remove what is named, or permit it in `unmanaged_allowed` of site.yaml"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node."""
        context = site.context
        surveys = commands(context, node, queries_on(context, node))
        if (known := context.baselines.get(node.name)) and known.differing is not None:
            del surveys[baseline.QUERY]  # an apply is incomplete
        yield Expected(
            surveys=tuple((query, tuple(command)) for query, command in surveys.items()),
            allowed=tuple(context.spec.unmanaged_allowed),
            is_refused=context.spec.unmanaged is UnmanagedRule.REFUSE,
        )

    def probe(self, expected: Expected) -> Probe:
        """Print the unmanaged things of the node, as a plan observes them."""
        return Probe({query: shlex.join(command) for query, command in expected.surveys}, timeout_s=120)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if all surveys were printed, and everything in them is allowed."""
        sections = parse_sections(output)
        found = [thing for query, _ in expected.surveys for thing in parse_survey(sections.text(query))]
        rows = [thing for thing in found if not _is_allowed(thing, expected.allowed)]
        verdict = failed if expected.is_refused else warned
        return worst(
            [verdict(f"no {thing.kind} {thing.name}", thing.detail) for thing in rows],
            otherwise="expected nothing unmanaged, got nothing"
            + (f" but {len(found)} things of unmanaged_allowed" if found else ""),
        )


def _is_allowed(thing: Thing, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(thing.name, pattern) for pattern in patterns)
