"""Transmission of the system log to the SIEM: rsyslog with a queue on disk, over TLS if the SIEM has a certificate.

Messages wait on disk while the SIEM is unreachable, up to `queue_mib`. Later ones remain in the journal only, and are
counted in `STATISTICS`, which `host.log-shipping` reads.
"""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.canonical_json import sha256_hex

from ...facts.node import NodeFacts
from ...spec import Node
from ..context import Context, render
from ..credential import SIEM_CA as CA_FILE
from ..credential import TLS
from ..resource import Desired, Risk, State
from ..resource_type import Query, ResourceType
from ..services.daemon import started_after

FILE, UNIT = "/etc/rsyslog.d/60-sovctl.conf", "rsyslog"
STATISTICS = "/var/log/sovctl-rsyslog.json"
"""Counters of rsyslog, one line a minute for each queue; at most 1 MiB."""
IDENTITY = (f"{TLS}/node.pem", f"{TLS}/node.key")


def _values(context: Context) -> dict[str, object]:
    logs = context.spec.host.logs
    assert logs is not None
    return {
        "address": str(logs.address),
        "port": logs.port,
        "ca_file": CA_FILE if logs.ca_file else "",
        "server_name": logs.server_name or "",
        "certificate_file": IDENTITY[0] if logs.client_certificate else "",
        "key_file": IDENTITY[1] if logs.client_certificate else "",
        "statistics_file": STATISTICS,
        "queue_mib": logs.queue_mib,
    }


def packages(context: Context) -> list[str]:
    """Return the packages of rsyslog; they have the same names on Debian, Ubuntu and RHEL."""
    logs = context.spec.host.logs
    if logs is None:
        return []
    return ["rsyslog", "rsyslog-gnutls"] if logs.ca_file else ["rsyslog"]


def _expect(context: Context, _node: Node, _facts: NodeFacts | None) -> Iterator[Desired]:
    logs = context.spec.host.logs
    if logs is None:
        return
    values = _values(context)
    yield Desired(
        kind="log_forwarding",
        name="siem",
        state={
            "file_sha256": sha256_hex(render("log_forwarding", "rsyslog.conf.j2", **values)),
            "active": "active",
            "enabled": "enabled",
            "runs_what_is_written": True,
        },
        why=f"system log to {logs.address}:{logs.port}, {'TLS' if logs.ca_file else 'without TLS'}",
        variables=values,
        risk=Risk.NONE,
        minutes=0.3,
    )


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    if facts.sha256(FILE) is None:
        return None
    unit = facts.units.get(UNIT)
    return {
        "file_sha256": facts.sha256(FILE),
        "active": unit.active if unit else None,
        "enabled": unit.enabled if unit else None,
        "runs_what_is_written": started_after(facts, unit, _loaded(desired)),
    }


def _loaded(desired: Desired) -> tuple[str, ...]:
    return (FILE, CA_FILE, *(IDENTITY if desired.variables["certificate_file"] else ()))


def _query(context: Context, _node: Node) -> Query:
    return Query() if context.spec.host.logs is None else Query(hash=(FILE, CA_FILE, *IDENTITY), units=(UNIT,))


RESOURCE_TYPE = ResourceType("log_forwarding", _expect, _observe, _query)
