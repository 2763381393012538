"""perimeter.default-drop: the policy of table `inet sovctl` is drop on input, forward and output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.nftables import Ruleset, parse_ruleset
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

_TABLE = ("inet", "sovctl")
_HOOKS = ("input", "forward", "output")


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Table and hooks are the same on every node."""


class DefaultDrop(Check[Expected]):
    id, version, method = "perimeter.default-drop", 1, Method.EXAMINE
    title = "the firewall policy is drop for input, forward and output"
    controls = ("ac-4", "cm-7", "sc-7", "sc-7.5")
    severity = Severity.CRITICAL
    remedy = "run `sovctl plan` and `sovctl apply`, which load the planned ruleset"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node."""
        yield Expected()

    def probe(self, expected: Expected) -> Probe:
        """Print the ruleset in the kernel, which can differ from the configuration file."""
        return Probe.of(ruleset="nft -j list ruleset")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the policy is drop on all three hooks, and no rule accepts every packet."""
        ruleset = parse_ruleset(parse_sections(output).text("ruleset"))
        return worst(
            _findings(ruleset),
            otherwise=f"expected policy drop on {', '.join(_HOOKS)} of table inet sovctl, got drop on all",
        )


def _findings(ruleset: Ruleset) -> Iterator[Judgement]:
    if _TABLE not in ruleset.tables:
        yield failed("table inet sovctl", "no such table")
        return
    chains = ruleset.base_chains(*_TABLE)
    for hook in _HOOKS:
        chain = chains.get(hook)
        if chain is None:
            yield failed(f"a filter chain on {hook}", "none")
        elif chain.policy != "drop":
            yield failed(f"policy drop on {hook}", str(chain.policy))
    for rule in ruleset.rules:
        if (rule.family, rule.table) == _TABLE and rule.matches_all and rule.verdict == "accept":
            yield failed("no rule that accepts every packet", f"one in chain {rule.chain}, handle {rule.handle}")
