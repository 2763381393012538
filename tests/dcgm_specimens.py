"""Output of `dcgmi diag -j` as DCGM 4.x and 3.x print it (NVIDIA/DCGM v4.6.0 and v3.3.9, dcgmi/Diag.cpp)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

DEPLOYMENT_3 = (
    "Denylist",
    "NVML Library",
    "CUDA Main Library",
    "Permissions and OS-related Blocks",
    "Persistence Mode",
    "Environmental Variables",
    "Page Retirement/Row Remap",
    "Graphics Processes",
    "Inforom",
)
CATEGORIES = {
    "software": "Deployment",
    "memory": "Hardware",
    "diagnostic": "Hardware",
    "nvbandwidth": "Hardware",
    "memtest": "Stress",
    "pulse_test": "Hardware",
    "pcie": "Integration",
    "memory_bandwidth": "Stress",
    "targeted_stress": "Stress",
    "targeted_power": "Stress",
}
RUN_1 = ("software",)
RUN_2 = (*RUN_1, "memory", "pcie")
RUN_3 = (*RUN_2, "diagnostic", "nvbandwidth", "memory_bandwidth", "targeted_stress", "targeted_power")
RUN_4 = (*RUN_3, "memtest", "pulse_test")

Change = dict[str, Any]
"""Fields of one result that differ from a pass, such as {"status": "Fail"}."""


def error(text: str, *, severity: int = 2) -> Change:
    """Return an error of DCGM 4.x."""
    return {"warning": text, "error_id": 84, "error_category": 7, "error_severity": severity}


def diag_4(
    tests: Sequence[str], *, gpus: int = 8, changes: dict[tuple[str, int | None], Change | None] | None = None
) -> str:
    """Return the output of DCGM 4.6.0.

    Args:
        changes: by (test, GPU); GPU None is `test_summary`; the value None removes the result.
    """
    changed = changes or {}
    categories: dict[str, list[Any]] = {}
    for name in tests:
        results = []
        for gpu in range(gpus):
            change = changed.get((name, gpu), {})
            if change is not None:
                entity = {"entity_group": "GPU", "entity_group_id": 1, "entity_id": gpu}
                results.append({**entity, "status": "Pass", **change})
        summary = changed.get((name, None), {})
        worst = "Fail" if any(each["status"] == "Fail" for each in results) else "Pass"
        test: dict[str, Any] = {"name": name, "results": results}
        if summary is not None:
            test["test_summary"] = {"status": worst, **summary}
        categories.setdefault(CATEGORIES[name], []).append(test)
    entities = [{"entity_id": gpu, "device_id": "2330", "serial_num": f"16500000000{gpu:02d}"} for gpu in range(gpus)]
    return json.dumps(
        {
            "DCGM Diagnostic": {
                "test_categories": [{"category": name, "tests": each} for name, each in categories.items()]
            },
            "entity_groups": [{"entities": entities, "entity_group": "GPU", "entity_group_id": 1}],
            "metadata": {"Driver Version Detected": "580.126.20", "version": "4.6.0"},
        },
        indent=3,
    )


NAMES_3 = {
    "memory": "Memory",
    "diagnostic": "Diagnostic",
    "memtest": "Memtest",
    "pulse_test": "Pulse Test",
    "pcie": "PCIe",
    "memory_bandwidth": "Memory Bandwidth",
    "targeted_stress": "Targeted Stress",
    "targeted_power": "Targeted Power",
}


def diag_3(
    tests: Sequence[str], *, gpus: int = 8, changes: dict[tuple[str, int | None], Change | None] | None = None
) -> str:
    """Return the output of DCGM 3.3.9: one result per deployment test, GPU numbers as text, `null` for no result.

    Args:
        changes: by (test, GPU), and by (name of a deployment test, None).
    """
    changed = changes or {}
    deployment = [
        {"name": name, "results": [{"status": "Pass", **(changed.get((name, None)) or {})}]} for name in DEPLOYMENT_3
    ]
    categories: dict[str, list[Any]] = {"Deployment": deployment}
    for name in tests:
        if name in NAMES_3:
            results = [
                None
                if (change := changed.get((name, gpu), {})) is None
                else {"gpu_id": str(gpu), "status": "Pass", **change}
                for gpu in range(gpus)
            ]
            categories.setdefault(CATEGORIES[name], []).append({"name": NAMES_3[name], "results": results})
    return json.dumps(
        {
            "DCGM GPU Diagnostic": {
                "test_categories": [{"category": name, "tests": each} for name, each in categories.items()]
            },
            "Driver Version Detected": "550.54.15",
            "GPU Device IDs": ["2330"] * gpus,
            "GPU Device Serials": {str(gpu): f"16500000000{gpu:02d}" for gpu in range(gpus)},
            "version": "3.3.9",
        },
        indent=3,
    )
