"""Whether a node serves nothing, measured on the node directly before an active test. Pure.

A pool or gateway serves while its unit is active or in a transition. Any other process on a GPU, such as a job of a
user, also prevents a test. `--allow-downtime NAME` permits a test next to a service; nothing permits it next to others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from ....facts.unreadable import Unreadable
from ....resources import pool
from ....resources.context import Context
from ....resources.gateway.service import UNIT as GATEWAY_UNIT
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import GREETING

GATEWAY = "gateway"
"""Name of the gateways for `--allow-downtime`, as in `sovctl apply`."""
_UNIT_LINE = re.compile(r"(sovctl-\S+)\.service \S+ (active|activating|deactivating|reloading|failed|inactive) \S+")
_PROCESS_LINE = re.compile(r"([1-9][0-9]*) (\S*) (\S*)")
_PROCESSES = """\
pids=$(nvidia-smi --query-compute-apps=pid --format=csv,noheader) || exit 1
for pid in $pids; do
  unit=$(sed -nE 's#.*/([^/]*)\\.service(/.*)?$#\\1#p' /proc/$pid/cgroup 2>/dev/null | head -n 1)
  echo "$pid $(cat /proc/$pid/comm 2>/dev/null | tr ' ' _) $unit"
done"""
_UNITS = f"""\
systemctl list-units --all --full --no-legend --plain --type=service 'sovctl-pool-*' '{GATEWAY_UNIT}*' && echo end"""


@dataclass(frozen=True)
class NodeServices:
    """Planned services of a node: `--allow-downtime` name by unit without `.service`."""

    by_unit: Mapping[str, str]
    has_gpus: bool

    @classmethod
    def of(cls, context: Context) -> dict[str, NodeServices]:
        """Return the services of every node of a site."""
        found = {}
        for _, node in context.spec.nodes():
            units = {pool.unit_name(each): each.pool for each in context.replicas_on(node)}
            if context.is_gateway(node):
                units[GATEWAY_UNIT] = GATEWAY
            found[node.name] = cls(units, context.platform(node).has_gpus)
        return found

    @property
    def probe(self) -> Probe:
        """Commands that print the active services, and the processes on GPUs."""
        processes = {"processes": _PROCESSES} if self.has_gpus else {}
        return Probe({"mark": GREETING, "units": _UNITS, **processes})


def refusal(node: str, services: NodeServices, output: ProbeOutput, allowed: Collection[str]) -> str:
    """Return the reason against an active test on a node; empty if it may run.

    Raises:
        Unreadable: the services were not measured.
    """
    found = list(dict.fromkeys(_obstacles(services, output, allowed)))
    if not found:
        return ""
    names = [name for name in dict.fromkeys(services.by_unit.values()) if f"{_word(name)} runs" in found]
    consent = "".join(f" --allow-downtime {name}" for name in names)
    consent = f", or consent with{consent}" if consent and len(names) == len(found) else ""
    return (
        f"expected {node} to serve nothing, got {', '.join(found)}; stop it with `sovctl node drain {node} --reason "
        f"TEXT`, `sovctl plan` and `sovctl apply`{consent}"
    )


def is_simulated(output: ProbeOutput) -> bool | None:
    """Return whether the node's hardware is simulated; None if it was not measured."""
    try:
        return {"simulated": True, "real": False}.get(parse_sections(output).text("mark").strip())
    except Unreadable:
        return None


def _obstacles(services: NodeServices, output: ProbeOutput, allowed: Collection[str]) -> Iterator[str]:
    sections = parse_sections(output)
    lines = sections.text("units").split("\n")
    if lines[-1:] != ["end"]:
        raise Unreadable("a list of units that ends with `end`", sections.text("units"), where="systemctl")
    for line in lines[:-1]:
        match = _UNIT_LINE.match(line.lstrip("●* "))
        if match is None:
            raise Unreadable("UNIT LOAD ACTIVE SUB", line, where="systemctl")
        if match[2] not in ("inactive", "failed"):
            yield from _service(services, match[1], allowed)
    if services.has_gpus:
        for line in filter(None, sections.text("processes").split("\n")):
            match = _PROCESS_LINE.fullmatch(line)
            if match is None:
                raise Unreadable("PID NAME UNIT", line, where="nvidia-smi")
            if match[3] in services.by_unit:
                yield from _service(services, match[3], allowed)
            else:
                yield f"process {match[1]} ({match[2] or 'unknown'}) on a GPU"


def _service(services: NodeServices, unit: str, allowed: Collection[str]) -> Iterator[str]:
    name = services.by_unit.get(unit)
    if name is None:
        yield f"{unit} runs"
    elif name not in allowed:
        yield f"{_word(name)} runs"


def _word(name: str) -> str:
    return "the gateway" if name == GATEWAY else f"pool {name}"
