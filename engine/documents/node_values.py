"""Values of the residency statement for each node, from facts and evidence only. Pure.

A value without a fact or a record is not collected. site.yaml is not a source of these values, because it contains the
plan and not the state of the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sovctl.compliance.documents.document import Collected, NotCollected, Value

from ..checks.definitions.network.routes_inside_site import read_routes
from ..facts.unreadable import Unreadable
from ..resources.host.resolver import name_servers
from ..spec import SiteSpec
from .model_values import CHECKSUM
from .node_facts import FactsByNode, KnownFacts
from .run_evidence import RunEvidence, source_of

CONTAINER_RUNTIMES = frozenset(
    ("buildah", "containerd", "containerd.io", "cri-o", "docker-ce", "docker.io", "moby-engine", "podman", "skopeo")
)
"""Debian, Ubuntu and RPM packages of programs that pull from container registries."""
_DNS, _SOURCES, _LOGS = "network.dns-only-site-resolvers", "software.sources-only-mirror", "host.log-shipping"
_WAY_OUT, _CLOCK, _ROUTES = "perimeter.no-way-out", "clock.synchronized", "network.routes-inside-site"


def node_values(spec: SiteSpec, facts: FactsByNode, evidence: RunEvidence) -> dict[str, dict[str, Collected]]:
    """Return the values of every node by its name."""
    return {node.name: _values(node.name, facts[node.name], evidence) for _, node in spec.nodes()}


def _values(node: str, known: KnownFacts | NotCollected, evidence: RunEvidence) -> dict[str, Collected]:
    of_facts: Mapping[str, Callable[[KnownFacts], Collected]] = {
        "simulated": _simulated,
        "egress": _egress,
        "containers": _containers,
    }
    return {
        **{name: known if isinstance(known, NotCollected) else read(known) for name, read in of_facts.items()},
        "way-out": evidence.verdict(_WAY_OUT, node),
        "names": _names(node, evidence),
        "packages": evidence.verdict(_SOURCES, node),
        "models": _models(node, evidence),
        "logs": evidence.verdict(_LOGS, node),
        "clocks": evidence.verdict(_CLOCK, node),
        "routes": _routes(node, evidence),
    }


def _simulated(known: KnownFacts) -> Collected:
    return Value("yes" if known.facts.simulated else "no", known.source, known.facts.simulated)


def _egress(known: KnownFacts) -> Collected:
    """Return the rules of all output chains in the kernel."""
    if known.facts.ruleset is None:
        return NotCollected("the node has no package nftables, and other firewalls are not read")
    lines, is_output = [], False
    for line in (each.strip() for each in known.facts.ruleset):
        if line.startswith("chain "):
            is_output = False
        is_output |= " hook output " in f" {line} "
        if is_output and line and line != "}":
            lines.append(line)
    if not lines:
        return Value("no output chain: every packet leaves", known.source, known.facts.simulated)
    return Value("\n".join(lines), known.source, known.facts.simulated)


def _containers(known: KnownFacts) -> Collected:
    found = sorted(CONTAINER_RUNTIMES & known.facts.packages.keys())
    if found:
        return NotCollected(f"{', '.join(found)} is installed, and its registries are not read", "a person states them")
    text = f"no container runtime among {len(known.facts.packages)} packages"
    return Value(text, known.source, known.facts.simulated)


def _names(node: str, evidence: RunEvidence) -> Collected:
    record = evidence.of(_DNS, node)
    if record is None:
        return evidence.none_of(_DNS, node)
    try:
        sections = evidence.sections(record)
        servers = [*name_servers(sections.text("file")), *name_servers(sections.text("resolved"))]
    except Unreadable as error:
        return NotCollected(f"the output of {_DNS} is unreadable: {error.message}")
    text = f"{', '.join(dict.fromkeys(servers)) or 'none'} ({record.evidence.verdict.value})"
    return Value(text, source_of(record), record.evidence.simulated)


def _routes(node: str, evidence: RunEvidence) -> Collected:
    """Return the routes of all tables by which packets can leave the node."""
    record = evidence.of(_ROUTES, node)
    if record is None:
        return evidence.none_of(_ROUTES, node)
    try:
        routes = read_routes(evidence.sections(record))
    except Unreadable as error:
        return NotCollected(f"the output of {_ROUTES} is unreadable: {error.message}")
    has_default = any(route.destination.prefixlen == 0 for route in routes)
    lines = [*map(str, routes), *(() if has_default else ("no default route",))]
    evaluated = f"compared with site.yaml: {record.evidence.verdict.value}"
    return Value("\n".join([*lines, evaluated]), source_of(record), record.evidence.simulated)


def _models(node: str, evidence: RunEvidence) -> Collected:
    """Return the comparison of model files with their manifests."""
    found = evidence.below(CHECKSUM, node)
    if not found:
        return evidence.none_of(CHECKSUM, node)
    lines = [f"{each.evidence.target}: {each.evidence.verdict.value}: {each.evidence.reason}" for each in found]
    return Value("\n".join(lines), "; ".join(map(source_of, found)), any(each.evidence.simulated for each in found))
