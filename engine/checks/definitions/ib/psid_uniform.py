"""ib.psid-uniform: all compute adapters of a node have the same board and the same firmware."""

from __future__ import annotations

from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe import ProbeOutput
from ...probes.compute_ports import Expected
from ._ports import ComputePortCheck


class PsidUniform(ComputePortCheck):
    id, version, method = "ib.psid-uniform", 1, Method.EXAMINE
    title = "compute adapters of a node have the same board and firmware"
    controls = ("cm-2", "cm-8")
    severity = Severity.MEDIUM
    remedy = "update the firmware of the named adapters, or replace the adapter with another board"

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail if adapters differ; a missing value is UNKNOWN."""
        ports, findings = self.ports(output, expected)
        for what, values in (
            ("board (PSID)", {adapter.name: adapter.board_id for adapter, _ in ports}),
            ("firmware", {adapter.name: adapter.fw_ver for adapter, _ in ports}),
        ):
            findings += [unknown(f"the {what} of {name}", "none") for name, value in values.items() if not value]
            known = sorted({value for value in values.values() if value})
            if len(known) > 1:
                got = ", ".join(f"{value} on {_with(values, value)}" for value in known)
                findings.append(failed(f"one {what} on all compute adapters", got))
        return worst(findings, otherwise=f"expected one board and firmware, got one on {len(ports)} adapters")


def _with(values: dict[str, str | None], wanted: str) -> str:
    return " ".join(name for name, value in values.items() if value == wanted)
