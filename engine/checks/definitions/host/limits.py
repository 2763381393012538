"""host.limits: the processes of pools and of the gateway have the planned limits of locked memory and open files."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.host.container import container_of
from ....facts.host.limits import UNLIMITED, parse_limits
from ....facts.numbers import integer
from ....facts.unreadable import Unreadable
from ....resources.gateway.service import UNIT as GATEWAY_UNIT
from ....resources.pool import unit_name
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ...probes.commands import CONTAINER

_OPEN_FILES, _LOCKED = "Max open files", "Max locked memory"
_NOFILE = 1048576  # files; Azure/azhpc-images@8e9d055f components/hpc-tuning.sh, community, 2026-11-20


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """One unit; the subject is its name.

    Args:
        needs_locked_memory: RDMA and pinned memory require an unlimited amount.
    """

    needs_locked_memory: bool


class Limits(Check[Expected]):
    id, version, method = "host.limits", 1, Method.EXAMINE
    title = "servers may lock memory without limit and open 1048576 files"
    controls = ("cm-6", "sc-5")
    severity = Severity.HIGH
    remedy = "run `sovctl plan` and `sovctl apply`; look for a drop-in with LimitMEMLOCK or LimitNOFILE"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every serving pool and gateway."""
        for each in site.context.serving_on(node):
            yield Expected(subject=unit_name(each), needs_locked_memory=True)
        if site.context.serves_gateway(node):
            yield Expected(subject=GATEWAY_UNIT, needs_locked_memory=False)

    def probe(self, expected: Expected) -> Probe:
        """Print the limits of the unit and of its process."""
        unit = f"{shlex.quote(expected.subject)}.service"
        process = f'cat "/proc/$(systemctl show -p MainPID --value {unit})/limits"'
        limits = f"systemctl show -p LimitMEMLOCK,LimitNOFILE {unit}"
        return Probe.of(container=CONTAINER, unit=limits, process=process)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if process and unit have the limits; both views count, because a process keeps those of its start.

        In a container only the unit counts, because the host limits the process (measured on lab nodes, 2026-11-28).
        """
        sections = parse_sections(output)
        is_container = container_of(sections.text("container")) is not None
        unit = dict(line.partition("=")[::2] for line in sections.text("unit").splitlines() if line)
        process = parse_limits(sections.text("process"))
        names: list[tuple[str, str, int | None]] = [("LimitNOFILE", _OPEN_FILES, _NOFILE)]
        names += [("LimitMEMLOCK", _LOCKED, None)] if expected.needs_locked_memory else []
        findings = []
        for of_unit, of_process, minimum in names:
            views = {f"{of_unit} of the unit": unit.get(of_unit)}
            if not is_container or of_process not in process:
                views[f"{of_process} of the process"] = process.get(of_process, (None,))[0]
            findings += [each for name, value in views.items() for each in _findings(name, value, minimum)]
        return worst(findings, otherwise=f"expected the limits of {expected.subject}, got them")


def _findings(name: str, value: str | None, minimum: int | None) -> Iterator[Judgement]:
    if value is None:
        yield unknown(name, "none")
    elif value in (UNLIMITED, "infinity"):
        return
    elif not value.isdecimal():
        raise Unreadable("a number, or no limit", value, where=name)
    elif minimum is None or integer(value) < minimum:
        yield failed(f"{name} {'without limit' if minimum is None else f'of at least {minimum}'}", value)
