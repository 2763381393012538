"""Cases of `bandwidth.*`: nvbandwidth v0.8 as JSON, three runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from check_cases.case import FAIL, UNKNOWN, Bad, Sample

from sovctl.engine.checks.definitions.bandwidth._nvbandwidth_check import Expected

HOST = ("host_to_device_memcpy_ce", "device_to_host_memcpy_ce")
PEER = ("device_to_device_memcpy_read_ce", "device_to_device_memcpy_write_ce")
COUNT = 8


def run(rates: Mapping[tuple[str, int, int], float | str] | None = None, *, gpus: int = COUNT, **more: Any) -> str:
    """Return the output of one run.

    Args:
        rates: by (test, row, column), where they differ from a healthy H100.
        more: fields of the document.
    """
    changed = rates or {}

    def cell(test: str, row: int, column: int, healthy: float) -> str:
        return str(changed.get((test, row, column), healthy + column / 100))

    cases: list[dict[str, Any]] = [
        {"name": test, "status": "Passed", "bandwidth_matrix": [[cell(test, 0, each, 55.2) for each in range(gpus)]]}
        for test in HOST
    ]
    for test in PEER:
        rows = [
            ["N/A" if row == column else cell(test, row, column, 392.4) for column in range(gpus)]
            for row in range(gpus)
        ]
        cases.append({"name": test, "status": "Passed", "bandwidth_matrix": rows})
    devices = [f"{each}: NVIDIA H100 80GB HBM3 (00000000:{16 + each:02x}:00): (n1)" for each in range(gpus)]
    body = {
        "CUDA Runtime Version": 13000,
        "Driver Version": "580.126.20",
        "GPU Device list": devices,
        "git_version": "v0.8",
        "testcases": cases,
        "version": "v0.8",
    }
    return json.dumps({"nvbandwidth": {**body, **more}}, indent=1)


GOOD = {f"run{each}": run() for each in (1, 2, 3)}


def cases(test: str, row: int, column: int, place: str) -> dict[str, Bad]:
    slow = run({(test, row, column): 12.6})
    waived = [{"name": each, "status": "Waived"} for each in (*HOST, *PEER)]
    failed = [{"name": each, "status": status} for each in (*HOST, *PEER) for status in ("Running", "Error")]
    return {
        "slow in two of three runs": Bad({"run1": slow, "run3": slow}, FAIL, place),
        "slow in all": Bad({"run1": slow, "run2": slow, "run3": slow}, FAIL, "got 12.6 GB/s"),
        "no rate of a pair": Bad({"run2": run({(test, row, column): "N/A"})}, UNKNOWN, "got N/A"),
        "a rate of 0": Bad({"run2": run({(test, row, column): 0.0})}, UNKNOWN, "got N/A"),
        "not a rate": Bad({"run2": run({(test, row, column): "nan"})}, UNKNOWN, "nan"),
        "waived": Bad({"run1": run(testcases=waived)}, UNKNOWN, "Waived"),
        "failed after its start": Bad({"run1": run(testcases=failed)}, UNKNOWN, "Error"),
        "an error": Bad({"run1": run(error="cuInit failed")}, UNKNOWN, "cuInit failed"),
        "seven GPUs": Bad({name: run(gpus=7) for name in GOOD}, FAIL, "8 GPUs in nvbandwidth, got 7"),
        "a run that failed": Bad({"run3": (1, "")}, UNKNOWN, "exit code 0 of run3"),
        "no program": Bad({"run1": (127, "")}, UNKNOWN, "install nvbandwidth"),
    }


def sample(minimum_gb_s: float, test: str, row: int, column: int, place: str) -> Sample:
    expected = Expected(nodes=("n1",), gpu_count=COUNT, minimum_gb_s=minimum_gb_s, repetitions=3)
    return Sample(expected, GOOD, cases(test, row, column, place), ('"testcases"', f'"{test}"'))


SAMPLES: dict[str, Sample] = {
    "bandwidth.host-to-device": sample(48, HOST[0], 0, 5, "from the host to GPU 5"),
    "bandwidth.device-to-host": sample(48, HOST[1], 0, 5, "from GPU 5 to the host"),
    "bandwidth.device-to-device": sample(335, PEER[1], 2, 6, "where GPU 2 writes to GPU 6"),
}
