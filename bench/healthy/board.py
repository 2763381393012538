"""Hardware of a healthy node of any platform, as facts for the stand-ins of the lab.

Values of the platform are those of the catalogue. Serial numbers, temperatures, power, replay counters and corrected
errors vary between nodes, within the ranges of healthy captures (106 to 150 replays: 8 x H100, NVIDIA/k8s-test-infra).
"""

from __future__ import annotations

import random
from typing import Any

from sovctl.engine.catalog.gpus import load_gpus
from sovctl.engine.catalog.platforms import Platform, PlatformComponent
from sovctl.engine.lab.hardware import inventory
from sovctl.engine.lab.layout import LabNode, NodeKind
from sovctl.engine.lab.standins.board import Board

DRIVER = "580.126.20"
_RATES = {200: "200 Gb/sec (4X HDR)", 400: "400 Gb/sec (4X NDR)", 800: "800 Gb/sec (4X XDR)"}
_HEALTHY_FABRIC = {
    "summary": "Healthy",
    "bandwidth": "Full",
    "route_recovery_in_progress": "False",
    "route_unhealthy": "False",
    "access_timeout_recovery": "False",
    "incorrect_configuration": "None",
}


class HealthyBoard(Board):
    """A board whose driver and daemons run. It reads no file."""

    def __init__(self, facts: dict[str, Any], platform: Platform) -> None:
        self.facts, self.platform = facts, platform

    module_version = library_version = loaded_version = property(lambda _: DRIVER)
    has_fabric_manager = is_persistent = has_host_engine = property(lambda _: True)
    mig = property(lambda _: {})
    is_fabric_up = property(lambda board: PlatformComponent.NVSWITCH in board.platform.parts or board.is_rack_scale)

    @property
    def is_rack_scale(self) -> bool:
        """Whether the NVLink domain spans several nodes."""
        return self.platform.nvlink_domain is not None


def healthy_board(platform: Platform, name: str, source: random.Random) -> HealthyBoard:
    """Return the hardware of one node of a platform with GPUs.

    Args:
        name: of the node; serial numbers follow from it.
    """
    facts = inventory.facts("healthy", LabNode(name, "192.0.2.1", NodeKind.GPU))
    checks, gpu = platform.checks, load_gpus()[platform.gpu or ""]
    memory_mib = gpu.usable_mib or gpu.memory_label_gb * 1024
    power_w, clock_mhz = _value(checks.power_limit_w, 700), _value(checks.sm_clock_mhz, 1980)
    generation, width = _value(checks.pcie_gen, 5), _value(checks.pcie_width, 16)
    facts["model"].update(
        product_name=f"NVIDIA {gpu.id}",
        memory_total_mib=memory_mib,
        power_limit_w=float(power_w),
        nvlink_count=_value(checks.nvlinks_per_gpu, 0),
        nvlink_gb_s=_value(checks.nvlink_gb_s, 0),
        pcie_max_gen=generation,
        pcie_max_width=width,
        pci_device_id=f"{_value(checks.gpu_pci_id, '2330').upper()}10DE",
    )
    health = (
        _HEALTHY_FABRIC if _value(checks.fabric_health, None) == "Healthy" else dict.fromkeys(_HEALTHY_FABRIC, "N/A")
    )
    facts["gpus"] = facts["gpus"][: platform.gpus]
    for each in facts["gpus"]:
        temperature_c = source.randint(24, 72)
        each.update(
            gpu_memory_mib=memory_mib,
            current_power_limit_w=float(power_w),
            sm_clock_mhz=clock_mhz,
            boost_clock_mhz=clock_mhz,
            pcie_gen=generation,
            pcie_width=width,
            pcie_replays=source.randint(106, 150),
            temperature_c=temperature_c,
            temperature_margin_c=87 - temperature_c,
            memory_temperature_c=temperature_c + source.randint(2, 12),
            power_draw_w=source.uniform(0.1, 0.99) * power_w,
        )
        each["fabric"]["health"] = health
        for scope in ("volatile", "aggregate"):
            each["ecc"][scope].update(sram_correctable=source.randint(0, 3), dram_correctable=source.randint(0, 40))
        each["remapped_rows"]["correctable"] = source.choice((0, 0, 0, 1, 2))
    facts["nics"] = facts["nics"][: _value(checks.compute_nics, 0)]
    for each in facts["nics"]:
        each["rate"] = _RATES[_value(checks.compute_nic_gbit_s, 400)]
        each["symbol_errors"] = source.choice((0, 0, 0, 1, 4))
    facts["nvswitches"] = [f"0000:{7 + index:02x}:00.0" for index in range(_value(checks.nvswitch_count, 0))]
    return HealthyBoard(facts, platform)


def _value(figure: Any, otherwise: Any) -> Any:
    """Return the value of a figure of the catalogue; `otherwise` if it is unknown or does not apply."""
    return otherwise if figure is None or figure.value is None else figure.value
