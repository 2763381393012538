"""Table of data classes by place, with the evidence that each place is the only one. Pure.

A place comes from site.yaml. The column `evidence` states whether checks decided it on all nodes; a place without
evidence of every node is UNKNOWN.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sovctl.compliance.documents.document import Table
from sovctl.compliance.verdict import Verdict

from ..spec import SiteSpec
from .run_evidence import RunEvidence

COLUMNS = ("data class", "place", "country", "source of the place", "evidence")
_STAYS = ("perimeter.default-drop", "perimeter.no-way-out")
_PEOPLE = "UNKNOWN: requires a person"


@dataclass(frozen=True)
class _Row:
    data: str
    place: str
    country: str
    source: str
    checks: tuple[str, ...]
    nodes: tuple[str, ...]


def data_places(spec: SiteSpec, evidence: RunEvidence) -> Table:
    """Return the table of a site."""
    rows = [*_of_site(spec), *_of_gateway(spec)]
    return Table(
        COLUMNS,
        tuple((r.data, r.place, r.country, r.source, _evidence(r.checks, r.nodes, evidence)) for r in rows),
        evidence.simulated,
    )


def _of_site(spec: SiteSpec) -> Iterator[_Row]:
    here, every = spec.site.jurisdiction, tuple(node.name for _, node in spec.nodes())
    groups = {group.name: tuple(node.name for node in group.nodes) for group in spec.node_groups}
    serving = tuple(dict.fromkeys(n for pool in spec.pools for n in pool.nodes or groups.get(pool.node_group, ())))
    yield _Row("prompts and answers", _named(serving), here, "site.yaml: pools", _STAYS, serving)
    yield _Row("model weights", _named(serving), here, "site.yaml: pools", ("model.checksum",), serving)
    logs = spec.host.logs
    sink = f"log collector {logs.address}:{logs.port}" if logs else "local files of each node"
    checks = ("host.log-shipping",) if logs else ()
    yield _Row("system logs", sink, _PEOPLE if logs else here, "site.yaml: host.logs", checks, every)
    names = ", ".join(map(str, spec.host.dns.servers)) if spec.host.dns else _PEOPLE
    yield _Row(
        "names that nodes resolve",
        names,
        _PEOPLE,
        "site.yaml: host.dns",
        ("network.dns-only-site-resolvers",) if spec.host.dns else (),
        every,
    )
    yield _Row("backups", _PEOPLE, _PEOPLE, "not in site.yaml", (), ())


def _of_gateway(spec: SiteSpec) -> Iterator[_Row]:
    gateway, here = spec.gateway, spec.site.jurisdiction
    if gateway is None:
        return
    nodes = tuple(gateway.nodes)
    yield _Row("prompts and answers in transit", _named(nodes), here, "site.yaml: gateway.nodes", _STAYS, nodes)
    database = gateway.vault.postgresql
    place = f"database {database.host}:{database.port}" if database else _named(nodes)
    yield _Row(
        "values of tokens (vault)",
        place,
        _PEOPLE if database else here,
        "site.yaml: gateway.vault",
        ("gateway.vault-encrypted",),
        nodes,
    )
    yield _Row(
        "audit records without text",
        _named(nodes),
        here,
        "site.yaml: gateway.nodes",
        ("gateway.audit-record-per-request", "gateway.ledger-verifies"),
        nodes,
    )
    if gateway.handoff is not None:
        yield _Row("withheld answers", _named(nodes), here, "site.yaml: gateway.handoff", _STAYS, nodes)
    if gateway.tracing is not None:
        host = gateway.tracing.endpoint.host or ""
        yield _Row("traces without text", f"collector {host}", _PEOPLE, "site.yaml: gateway.tracing", (), ())
    for cloud in gateway.clouds:
        yield _Row(
            "tokenized requests and their answers",
            f"cloud {cloud.name} at {cloud.base_url.host}",
            f"{cloud.jurisdiction} by site.yaml",
            f"site.yaml: gateway.clouds[{cloud.name}]",
            ("gateway.only-tokens-leave", "perimeter.exception-only-from-gateway"),
            nodes,
        )


def _named(nodes: Iterable[str]) -> str:
    return ", ".join(nodes) or "none"


def _evidence(checks: Iterable[str], nodes: tuple[str, ...], evidence: RunEvidence) -> str:
    """Return the verdicts of the checks over the nodes; UNKNOWN unless every check has a record of every node."""
    if evidence.absent:
        return f"UNKNOWN: {evidence.absent}"
    found = [_verdicts(check, nodes, evidence) for check in checks]
    return "; ".join(found) if found and nodes else "UNKNOWN: no check decides it"


def _verdicts(check: str, nodes: tuple[str, ...], evidence: RunEvidence) -> str:
    worst: list[Verdict] = []
    missing = []
    for node in nodes:
        records = evidence.below(check, node)
        if records:
            worst += [each.evidence.verdict for each in records]
        else:
            missing.append(node)
    if missing:
        return f"UNKNOWN: {check} has no record on {', '.join(missing)}"
    counts = ", ".join(f"{worst.count(each)} {each.value}" for each in Verdict if each in worst)
    return f"{check}: {counts}"
