"""roce.no-drops: no compute port dropped packets of the lossless priority, or stopped a pause storm, since the boot.

Source of the names: Linux, networking/device_drivers/ethernet/mellanox/mlx5/counters.rst, read 2026-11-28.
Drops of other priorities and lost links are WARN, because switches drop TCP packets in normal operation, and restart.
"""

from __future__ import annotations

from ....facts.fabric.roce import parse_statistics
from ....spec.fabric import RoceNetwork
from ...model.check import Judgement, Method, Severity, failed, unknown, warned
from ...model.probe_sections import ProbeSections
from ._roce_check import RoceCheck, each_port

_REVIEWED = ("rx_discards_phy", "link_down_events_phy", "rx_crc_errors_phy")


class NoDrops(RoceCheck):
    id, version, method = "roce.no-drops", 1, Method.TEST
    title = "no compute port dropped packets of RoCE"
    controls = ("si-13", "si-4")
    severity = Severity.MEDIUM
    remedy = "compare flow control and buffers of adapter and switch port, and check the cable"

    def commands(self, network: RoceNetwork) -> dict[str, str]:
        """Print the counters."""
        return {"counters": 'ethtool -S "${net##*/}"'}

    def judge_ports(self, sections: ProbeSections, wanted: frozenset[str], network: RoceNetwork) -> list[Judgement]:
        """Fail for drops of the lossless priority and for pause storms; a missing counter is UNKNOWN."""
        findings = []
        fatal = (f"rx_prio{network.lossless_priority}_discards", "tx_pause_storm_error_events")
        for interface, found in each_port(sections.text("counters"), wanted, parse_statistics):
            for name in (*fatal, *_REVIEWED):
                if name not in found:
                    findings.append(unknown(f"{name} of {interface}", "none"))
                elif found[name]:
                    verdict = failed if name in fatal else warned
                    findings.append(verdict(f"{name} 0 on {interface}", str(found[name])))
        return findings
