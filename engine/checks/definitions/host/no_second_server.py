"""host.no-second-server: servers of engines and of the gateway run in their planned units only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.host.sockets import parse_process_units
from ....facts.numbers import integer
from ....facts.unreadable import Unreadable
from ....resources.gateway.service import UNIT as GATEWAY_UNIT
from ....resources.pool import unit_name
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

# The variables keep the words out of the command line of this shell, which the loop reads too.
_SCRIPT = r"""v=vll l=lama-serve g=sovctl.gatewa n=0
for p in /proc/[0-9]*; do
  n=$((n + 1))
  case $(tr '\0' ' ' <"$p/cmdline" 2>/dev/null) in
    *"${v}m serve"*|*"${v}m.entrypoints"*|*"${l}r "*|*"-m ${g}y serve"*)
      echo "${p#/proc/} $(tail -n 1 "$p/cgroup" 2>/dev/null)" ;;
  esac
done
echo "processes $n"
"""


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Units of the servers on the node; can be empty."""

    units: tuple[str, ...]


class NoSecondServer(Check[Expected]):
    id, version, method = "host.no-second-server", 1, Method.EXAMINE
    title = "no server of an engine or of the gateway runs outside its unit"
    controls = ("cm-11", "cm-7", "cm-7.5")
    severity = Severity.HIGH
    remedy = "stop the process, and find the account and the session that started it"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every node."""
        units = [f"{unit_name(each)}.service" for each in site.context.replicas_on(node)]
        yield Expected(units=(*units, *([f"{GATEWAY_UNIT}.service"] if site.context.is_gateway(node) else [])))

    def probe(self, expected: Expected) -> Probe:
        """Print process ID and control group of each server; command lines are not printed."""
        return Probe.of(servers=_SCRIPT)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every server is in a planned unit."""
        lines = [line for line in parse_sections(output).text("servers").splitlines() if line.strip()]
        word, _, count = lines[-1].partition(" ") if lines else ("", "", "")
        if word != "processes" or not count.isdecimal() or integer(count) == 0:
            raise Unreadable("the number of processes in the last line", "\n".join(lines[-1:]), where="/proc")
        servers = parse_process_units("\n".join(lines[:-1]))
        findings = []
        for pid, unit in servers.items():
            if not unit:
                findings.append(unknown(f"the unit of process {pid}", "none"))
            elif unit not in expected.units:
                findings.append(
                    failed(f"servers in {', '.join(expected.units) or 'no unit'}", f"process {pid} in {unit}")
                )
        return worst(
            findings, otherwise=f"expected servers in planned units, got {len(servers)} of {count} processes there"
        )
