"""monitoring.rules-loaded: Prometheus evaluates exactly the rules of site.yaml, without errors.

Prometheus prints expressions in a form of its own. Therefore names, durations and labels are compared with the loaded
rules, and the expressions by the SHA-256 of the file, which Prometheus must have loaded after its last write.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from sovctl.support.canonical_json import sha256_hex

from ....facts.unreadable import MALFORMED, Unreadable, excerpt
from ....monitoring.rules import rule_groups, rules_yaml
from ....resources.monitoring.places import RULES
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ._answers import command, parse_rows

_UNIT = "sovctl-monitoring-prometheus"
_TIMES = f"systemctl show --timestamp=unix --property=ActiveEnterTimestamp --value {_UNIT}; stat --format=@%Y {RULES}"


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """From site.yaml.

    Args:
        rules: group, name, seconds of `for`, and labels of each rule.
        sha256: of the rule file.
    """

    rules: tuple[str, ...]
    sha256: str


def shown(group: str, name: str, seconds: float, labels: dict[str, str]) -> str:
    """Return one rule as text."""
    return f"{group}/{name} for {seconds:g} s {','.join(f'{key}={labels[key]}' for key in sorted(labels))}".rstrip()


class RulesLoaded(Check[Expected]):
    id, version, method = "monitoring.rules-loaded", 1, Method.TEST
    title = "Prometheus evaluates exactly the rules of site.yaml"
    controls = ("au-5", "cm-6", "si-4")
    severity = Severity.HIGH
    remedy = "run `sovctl plan` and `sovctl apply`; read `journalctl -u sovctl-monitoring-prometheus`"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of the node of `monitoring.server`."""
        spec = site.context.spec
        if not site.context.is_monitoring_server(node):
            return
        rules = (
            shown(group.name, rule.name, rule.hold_s, rule.all_labels)
            for group in rule_groups(spec)
            for rule in group.rules
        )
        yield Expected(rules=tuple(sorted(rules)), sha256=sha256_hex(rules_yaml(spec)))

    def probe(self, expected: Expected) -> Probe:
        """Print the loaded rules, the digest of the file, and the times of start and of the last write."""
        return Probe({"rules": command("rules"), "file": f"sha256sum {RULES}", "times": _TIMES}, timeout_s=60)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the loaded rules are those of site.yaml and were evaluated without an error."""
        sections = parse_sections(output)
        rows = parse_rows(sections.text("rules"))
        try:
            loaded = Counter(
                shown(row["group"], row["name"], float(row["seconds"]), dict(row["labels"])) for row in rows
            )
            health = {f"{row['group']}/{row['name']}": (str(row["health"]), str(row["error"])) for row in rows}
            started, written = (int(line.removeprefix("@")) for line in sections.text("times").split())
        except MALFORMED:
            where = "prometheus_client"
            raise Unreadable("rules, and two times", sections.text("times"), where=where) from None
        findings: list[Judgement] = []
        file_sha256 = sections.text("file").partition(" ")[0]
        if file_sha256 != expected.sha256:
            findings.append(failed(f"{RULES} with SHA-256 {expected.sha256[:12]}", excerpt(file_sha256[:12])))
        if started < written:
            findings.append(failed("a start of Prometheus after the last write of its rules", "an older process"))
        wanted = Counter(expected.rules)
        findings += [failed(f"rule {rule}", "not loaded") for rule in sorted((wanted - loaded).elements())]
        findings += [failed("only rules of site.yaml", rule) for rule in sorted((loaded - wanted).elements())]
        for name, (state, error) in sorted(health.items()):
            if state == "unknown":
                findings.append(unknown(f"an evaluation of {name}", "none since the start of Prometheus"))
            elif state != "ok":
                findings.append(failed(f"an evaluation of {name} without an error", excerpt(error)))
        return worst(findings, otherwise=f"expected {len(expected.rules)} rules, got all of them evaluated")
