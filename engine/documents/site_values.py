"""Values of the whole site: description in site.yaml, gateway, retention, hardware, software and measures. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sovctl.compliance.documents.document import Collected, NotCollected, Value

from ..catalog import Catalog
from ..checks.definitions.site.imports_approved import published_bundles
from ..checks.model.check_context import CONTROLLER
from ..facts.unreadable import Unreadable
from ..spec import SiteSpec
from ..spec.gateway.section import Gateway
from .model_values import served_models
from .node_facts import FactsByNode, KnownFacts
from .run_evidence import RunEvidence, source_of

IMPORTS = "site.imports-approved"

MEASURES: Mapping[str, tuple[str, ...]] = {
    "perimeter": (
        "perimeter.default-drop",
        "perimeter.no-way-out",
        "perimeter.exception-only-from-gateway",
        "network.dns-only-site-resolvers",
        "network.routes-inside-site",
        "host.listeners-as-planned",
    ),
    "access": (
        "access.ssh-keys-only",
        "access.root-keys",
        "gateway.rejects-without-key",
        "pool.tls-client-certificate-required",
        "site.keys-private",
    ),
    "encryption": (
        "gateway.only-tokens-leave",
        "gateway.vault-encrypted",
        "pool.tls-client-certificate-required",
        "disk.encrypted",
        "memory.swap-off",
    ),
    "integrity": (
        "model.checksum",
        "software.environment-files",
        "host.packages-unchanged",
        "software.sources-only-mirror",
        "site.imports-approved",
        "plan.empty-after-apply",
    ),
    "logging": (
        "gateway.audit-record-per-request",
        "gateway.ledger-verifies",
        "site.ledger-verifies",
        "host.audit-running",
        "host.log-shipping",
        "clock.synchronized",
    ),
}
"""Checks that are evidence for a measure of GDPR Art. 32(1) and Annex IV of the EU AI Act."""


@dataclass(frozen=True)
class Sources:
    """Sources of all values.

    Args:
        applies: names of the journals of applies, oldest first.
    """

    spec: SiteSpec
    catalog: Catalog
    evidence: RunEvidence
    facts: FactsByNode
    applies: tuple[str, ...]
    tool_version: str
    text_sha256: str
    """SHA-256 of the bytes of site.yaml."""


def site_values(sources: Sources) -> dict[str, Collected]:
    """Return the values of the site by name."""
    spec = sources.spec
    return {
        "site.name": Value(spec.site.name, "site.yaml: site.name"),
        "site.jurisdiction": Value(spec.site.jurisdiction, "site.yaml: site.jurisdiction"),
        "site.placement": Value(spec.site.placement.value, "site.yaml: site.placement"),
        "site.version": Value(
            f"site.yaml with SHA-256 {sources.text_sha256}, sovctl {sources.tool_version}", "site.yaml"
        ),
        "site.clouds": _clouds(spec),
        "site.transfers": _transfers(spec),
        "site.exceptions": _exceptions(spec),
        "site.flows": _flows(spec),
        "site.operations": _operations(spec),
        "site.hardware": _hardware(sources),
        "site.models": _models(sources),
        "site.resources": _resources(spec),
        "site.software": _software(sources),
        "ledger.retention": Value(f"{spec.compliance.retention_days} days", "site.yaml: compliance.retention_days"),
        **_gateway(spec.gateway),
        **{f"measures.{name}": sources.evidence.measure(checks) for name, checks in MEASURES.items()},
        "evidence.summary": sources.evidence.summary(),
        "evidence.open": sources.evidence.open_checks(),
        "evidence.changes": _changes(sources.applies),
        "site.imports": _imports(sources.evidence),
    }


def _lines(items: Iterable[str], none: str) -> str:
    return "\n".join(items) or none


def _clouds(spec: SiteSpec) -> Value:
    clouds = spec.gateway.clouds if spec.gateway else []
    text = _lines((f"{each.name} ({each.jurisdiction}): tokenized text" for each in clouds), "none")
    return Value(text, "site.yaml: gateway.clouds")


def _transfers(spec: SiteSpec) -> Value:
    clouds = spec.gateway.clouds if spec.gateway else []
    abroad = [each for each in clouds if each.jurisdiction != spec.site.jurisdiction]
    text = _lines((f"{each.jurisdiction}: cloud {each.name}" for each in abroad), "none")
    return Value(text, f"site.yaml: gateway.clouds[].jurisdiction other than {spec.site.jurisdiction}")


def _exceptions(spec: SiteSpec) -> Value:
    lines = (
        f"{each.name}: {each.address}:{each.port} from the {each.source}, approved by {each.approved_by} until "
        f"{each.expires}; {each.reason}"
        for each in spec.perimeter.exceptions
    )
    return Value(_lines(lines, "none"), "site.yaml: perimeter.exceptions")


def _flows(spec: SiteSpec) -> Value:
    lines = (
        f"{each.name} ({each.service.value}): {'from' if each.is_inbound else 'to'} "
        f"{', '.join(map(str, each.addresses))}"
        for each in spec.perimeter.flows
    )
    return Value(_lines(lines, "none"), "site.yaml: perimeter.flows")


def _operations(spec: SiteSpec) -> Value:
    if spec.gateway is None:
        return Value("Clients send requests to the pools directly; site.yaml has no gateway.", "site.yaml: gateway")
    text = (
        "The gateway authenticates the client, detects identifiers, and sends the request to a pool of the site"
        + (", or with tokens instead of identifiers to a cloud" if spec.gateway.clouds else "")
        + ". It restores tokens in the answer, and records the request in a ledger without its text."
    )
    return Value(text, "site.yaml: gateway")


def _hardware(sources: Sources) -> Value:
    lines = [
        f"{group.name}: {len(group.nodes)} x {group.platform} ({', '.join(node.name for node in group.nodes)})"
        for group in sources.spec.node_groups
    ]
    return Value(
        "\n".join(lines), "site.yaml: node_groups", sources.evidence.simulated or _any_simulated(sources.facts)
    )


def _models(sources: Sources) -> Value:
    lines = []
    for model in served_models(sources.spec):
        entry = sources.catalog.models.get(model.catalog)
        lines.append(f"{model.name}: {entry.hf_repo or entry.id if entry else model.catalog}, pre-trained")
    return Value(_lines(lines, "none"), "site.yaml: models, pools; catalogue")


def _resources(spec: SiteSpec) -> Value:
    lines = (
        f"{pool.name}: {pool.replicas} replicas of {pool.gpus_per_replica} GPUs ({pool.spread}) on {pool.node_group}"
        for pool in spec.pools
    )
    return Value(_lines(lines, "none"), "site.yaml: pools")


def _software(sources: Sources) -> Collected:
    software = sources.spec.software
    lines = [f"planned: {software.engine} {software.engine_version}, driver lock {software.lock}"]
    missing = []
    for name, known in sources.facts.items():
        if isinstance(known, KnownFacts):
            system = known.facts.system
            lines.append(f"{name}: {system.title or 'unknown system'}, kernel {system.kernel or 'unknown'}")
        else:
            missing.append(name)
    if missing:
        return NotCollected(f"no readable facts of {', '.join(missing)}", "run `sovctl facts`")
    return Value("\n".join(lines), "site.yaml: software; facts of each node", _any_simulated(sources.facts))


def _imports(evidence: RunEvidence) -> Collected:
    """Return the published bundles of the site: number, signers, persons, scanner and files."""
    record = evidence.of(IMPORTS, CONTROLLER)
    if record is None:
        return evidence.none_of(IMPORTS, CONTROLLER)
    try:
        bundles = published_bundles(evidence.sections(record))
    except Unreadable as error:
        return NotCollected(f"the output of {IMPORTS} is unreadable: {error.message}")
    lines = [
        f"bundle {each['sequence']} of {each['created']}: {each['files']} files, signed by "
        f"{', '.join(map(str, each['signers']))}; imported by {each['importer']}, approved by {each.get('approver')}, "
        f"scanner {each.get('scanner')}, published {each['published']}"
        for each in bundles
    ]
    verdict = record.evidence.verdict.value
    return Value(
        "\n".join([*lines, f"evaluated: {verdict}"] if lines else ["no bundle was published"]), source_of(record)
    )


def _any_simulated(facts: FactsByNode) -> bool:
    return any(isinstance(known, KnownFacts) and known.facts.simulated for known in facts.values())


def _changes(applies: tuple[str, ...]) -> Collected:
    if not applies:
        return NotCollected("the site has no journal of an apply", "run `sovctl apply`")
    return Value(
        f"{len(applies)} applies, the newest {applies[-1]}", "journals in the state folder, bound to the ledger"
    )


_WITHOUT_GATEWAY = NotCollected("site.yaml has no gateway", "people describe the systems in front of the pools")


def _gateway(gateway: Gateway | None) -> dict[str, Collected]:
    names = ("routes", "callers", "policy", "handoff", "retention", "interfaces")
    if gateway is None:
        return {f"gateway.{name}": _WITHOUT_GATEWAY for name in names}
    policy, tenants = gateway.policy, sorted({client.tenant for client in gateway.clients})
    rows = [f"default: {policy.default.value}", *(f"{kind}: {row.value}" for kind, row in policy.entity_types.items())]
    rows += [f"{len(policy.rules)} further rules by tenant and route"] if policy.rules else []
    reviewed = f"queue of up to {gateway.handoff.max_open} answers on the gateway nodes" if gateway.handoff else "none"
    return {
        "gateway.routes": Value(", ".join(route.model for route in gateway.routes), "site.yaml: gateway.routes"),
        "gateway.callers": Value(
            f"{len(gateway.clients)} clients of tenants {', '.join(tenants)}; "
            f"{len(gateway.identity_providers)} identity providers",
            "site.yaml: gateway.clients, gateway.identity_providers",
        ),
        "gateway.policy": Value("\n".join(rows), "site.yaml: gateway.policy"),
        "gateway.handoff": Value(reviewed, "site.yaml: gateway.handoff"),
        "gateway.retention": Value(
            f"token values: {gateway.vault.ttl_s} s after the last use of a conversation; prompts and answers are not "
            "stored by the gateway, except withheld answers until their review",
            "site.yaml: gateway.vault.ttl_s",
        ),
        "gateway.interfaces": Value(f"HTTP API with TLS on port {gateway.port}", "site.yaml: gateway.port"),
    }
