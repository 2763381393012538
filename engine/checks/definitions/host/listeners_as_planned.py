"""host.listeners-as-planned: the node accepts TCP connections on planned ports only, from the planned services."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....facts.host.sockets import Listener, parse_kernel_ports, parse_listeners, parse_process_units
from ....resources.gateway.service import UNIT as GATEWAY_UNIT
from ....resources.host import imex
from ....resources.pool import instance, unit_name
from ....resources.retrieval.service import UNIT as RETRIEVAL_UNIT
from ....resources.serving.group import agent_unit, is_group
from ....resources.serving.proxy import listening_unit
from ....resources.serving.rank_ports import ports_of
from ....resources.serving.swap import sets_on
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import LISTENERS

_SSH_UNITS = ("ssh.service", "sshd.service", "ssh.socket", "sshd.socket", "init.scope")
"""Units of sshd on Debian and RHEL. Process 1 holds the socket of a socket unit."""


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Planned listeners that other machines can reach.

    Args:
        ports: units by TCP port; empty for a port of `perimeter.flows`, which any service may use.
        ssh_port: that always has a listener.
        dynamic_units: units that listen on further ports, which the kernel assigns and the firewall closes.
    """

    ports: Mapping[int, tuple[str, ...]]
    ssh_port: int
    dynamic_units: tuple[str, ...] = ()


class ListenersAsPlanned(Check[Expected]):
    id, version, method = "host.listeners-as-planned", 1, Method.EXAMINE
    title = "only planned services listen on addresses that other machines can reach"
    controls = ("cm-7", "cm-7.1", "sc-7")
    severity = Severity.HIGH
    remedy = "stop the named service, or add its port to `perimeter.flows` of site.yaml"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node."""
        context, spec = site.context, site.context.spec
        ports: dict[int, tuple[str, ...]] = {spec.access.port: _SSH_UNITS}
        replicas = context.replicas_on(node)
        ports |= {
            each.port: (f"{listening_unit(context, each)}.service",) for each in replicas if node.name in each.endpoints
        }
        for each in filter(is_group, replicas):
            ports[ports_of(context, each).agent] = (f"{agent_unit(instance(each))}.service",)
        for swap_set in sets_on(context, node):
            ports |= {each.port: (f"{swap_set.proxy}.service",) for each in swap_set.replicas}
        if context.is_gateway(node):
            gateway_ports = [context.gateway.port, *([context.gateway.admin.port] if context.gateway.admin else [])]
            ports |= dict.fromkeys(gateway_ports, (f"{GATEWAY_UNIT}.service",))
        if context.is_retrieval(node):
            ports[context.retrieval.port] = (f"{RETRIEVAL_UNIT}.service",)
        if imex.domain_of(context, node):
            ports[imex.PORT] = ("nvidia-imex.service",)
        for flow in spec.perimeter.flows:
            if flow.is_inbound and (not flow.node_groups or context.group(node).name in flow.node_groups):
                ports |= {port: () for port in flow.used_ports() if port not in ports}
        yield Expected(
            ports=ports,
            ssh_port=spec.access.port,
            dynamic_units=tuple(f"{unit_name(each)}.service" for each in replicas),
        )

    def probe(self, expected: Expected) -> Probe:
        """Print listeners as ss and the kernel have them, and the control group of each process."""
        groups = (
            f"for p in $({LISTENERS} | grep -o 'pid=[0-9]*' | cut -d= -f2 | sort -un); do "
            'echo "$p $(tail -n 1 /proc/$p/cgroup 2>/dev/null)"; done'
        )
        return Probe.of(
            listeners=LISTENERS, groups=groups, kernel="cat /proc/net/tcp /proc/net/tcp6 2>/dev/null || true"
        )

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every listener that other machines can reach is planned, and both views have the same ports."""
        sections = parse_sections(output)
        listeners = parse_listeners(sections.text("listeners"))
        units = parse_process_units(sections.text("groups"))
        findings = []
        hidden = sorted(parse_kernel_ports(sections.text("kernel")) ^ {each.port for each in listeners})
        if hidden:
            findings.append(unknown("the same ports from ss and the kernel", f"a difference at {_shown(hidden)}"))
        if not any(each.port == expected.ssh_port for each in listeners):
            findings.append(unknown(f"a listener on port {expected.ssh_port}", "none"))
        reachable = [each for each in listeners if not each.is_loopback]
        for each in reachable:
            findings += _findings(each, units, expected)
        return worst(findings, otherwise=f"expected planned listeners only, got {len(reachable)} reachable ones")


def _shown(ports: list[int]) -> str:
    return ", ".join(map(str, ports[:8]))


def _findings(listener: Listener, units: Mapping[int, str], expected: Expected) -> Iterator[Judgement]:
    where = f"{listener.address}:{listener.port}"
    planned = expected.ports.get(listener.port)
    if planned == ():
        return
    owners = {units.get(pid, "") for _, pid in listener.processes}
    names = ", ".join(sorted({name for name, _ in listener.processes})) or "an unknown process"
    if not owners or "" in owners:
        verdict = unknown if planned is not None else failed
        yield verdict(f"a planned listener with a unit on {where}", names)
    elif not owners <= {*(planned or ()), *expected.dynamic_units}:
        yield failed(f"{' or '.join(planned) if planned else 'no listener'} on {where}", f"{names} of {_first(owners)}")


def _first(owners: set[str]) -> str:
    return sorted(owners)[0]
