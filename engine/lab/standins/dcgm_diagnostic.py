"""Simulated `dcgmi diag`: results of every GPU from the node's facts, in the form of DCGM 4.x or 3.x.

dcgmi diag -r 1|2|3|4|TEST[,TEST] [-p TEST.PARAMETER=VALUE[;...]] -j

Messages, severities, parameters and default thresholds are those of NVIDIA/DCGM 4.6.0 (dcgmlib/dcgm_errors.h and .c,
nvvs/diag-skus.yaml.in for device 2330). The form of 3.x is that of v3.3.9. No GPU is used, and no time passes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from .board import SIMULATED, Board, Facts

FAILED = 226  # -30, DCGM_ST_NVVS_ERROR, as exit code
TIMED_OUT = 124
Result = dict[str, Any]
_CATEGORIES = {
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
_RUNS = {
    "1": ("software",),
    "2": ("software", "memory", "pcie"),
    "3": tuple(name for name in _CATEGORIES if name not in ("memtest", "pulse_test")),
    "4": tuple(_CATEGORIES),
}
_DEPLOYMENT_3 = (
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
_NAMES_3 = {
    "memory": "Memory",
    "diagnostic": "Diagnostic",
    "memtest": "Memtest",
    "pulse_test": "Pulse Test",
    "pcie": "PCIe",
    "memory_bandwidth": "Memory Bandwidth",
    "targeted_stress": "Targeted Stress",
    "targeted_power": "Targeted Power",
}
_THRESHOLDS = {
    "memory_bandwidth.minimum_bandwidth": 1_905_000.0,
    "targeted_stress.target_stress": 29_250.0,
    "targeted_power.target_power": 700.0,
}
MONITOR, ISOLATE, TRIAGE, CONFIG, RESET = 1, 2, 4, 5, 6


def run(board: Board, arguments: list[str], version: str) -> tuple[int, str]:
    """Return exit code and output of `dcgmi diag` with these arguments, without `diag`."""
    options = dict(zip(arguments[::2], arguments[1::2], strict=False))
    names = _RUNS.get(options.get("-r", ""), ("software", *options.get("-r", "").split(",")))
    if arguments[-1:] != ["-j"] or not set(options) <= {"-r", "-p", "-j"} or not set(names) <= set(_CATEGORIES):
        return 1, f"expected -r LEVEL [-p PARAMETERS] -j, got {' '.join(arguments)!r}; {SIMULATED}"
    gpus = [gpu for gpu in board.gpus if not gpu["is_lost"]] if board.loaded_version else []
    if not gpus:
        return 1, _refusal("Error: Unable to complete diagnostic for group 0. Return: (-6) : No data is available")
    if board.facts["diagnostics"]["hangs"]:
        return TIMED_OUT, ""
    thresholds = dict(_THRESHOLDS)
    for parameter in filter(None, options.get("-p", "").split(";")):
        name, _, value = parameter.partition("=")
        thresholds[name] = float(value)
    tests = {name: [_result(board, gpu, name, thresholds) for gpu in gpus] for name in names}
    has_failed = any(result["status"] == "Fail" for results in tests.values() for result in results)
    form = _form_3 if board.facts["diagnostics"]["dcgm_major"] == 3 else _form_4
    return FAILED if has_failed else 0, json.dumps(form(gpus, tests, version, board), indent=3)


def hang() -> None:
    """Wait until a signal ends the process."""
    while True:
        time.sleep(3600)


def _refusal(text: str) -> str:
    return json.dumps({"DCGM Diagnostic": {"runtime_error": text, "version": SIMULATED}}, indent=3)


def _result(board: Board, gpu: Facts, name: str, thresholds: dict[str, float]) -> Result:
    """Return status, errors and information of one test on one GPU; status "" if it has no result."""
    settings = board.facts["diagnostics"]
    if gpu["has_no_result"] and name != "software":
        return {"status": ""}
    if name in settings["skipped"]:
        return {"status": "Skip"}
    errors = list(_ERRORS[name](board, gpu, thresholds))
    if name in gpu["failed_tests"]:
        errors.append(_error(gpu, _FAILURES[name]))
    found: Result = {"status": "Fail" if errors else "Pass"}
    if errors:
        found["warnings"] = [
            {"warning": text, "error_id": 1, "error_category": 7, "error_severity": severity}
            for text, severity in errors
        ]
    if info := _INFO.get(name, lambda *_: [])(gpu, thresholds):
        found["info"] = info
    return found


Error = tuple[str, int]
_FAILURES: dict[str, Error] = {
    "memory": ("Found 12 faulty memory elements on GPU {index}", ISOLATE),
    "memtest": ("Found 3 faulty memory elements on GPU {index}", ISOLATE),
    "diagnostic": ("There were 4 miscompares in the results of GPU {index}", ISOLATE),
    "pulse_test": ("GPU {index} was reset by a power pulse", TRIAGE),
}


def _error(gpu: Facts, error: Error) -> Error:
    return error[0].format(index=gpu["index"]), error[1]


def _software(board: Board, gpu: Facts, _: dict[str, float]) -> list[Error]:
    rows, name = gpu["remapped_rows"], gpu["index"]
    found = {
        (f"Persistence mode for GPU {name} is disabled.", CONFIG): not board.is_persistent,
        (f"GPU {name} had uncorrectable memory errors and row remapping failed.", RESET): rows["failure"] == "Yes",
        (f"GPU {name} had memory errors and row remappings are pending", RESET): rows["pending"] == "Yes",
        (f"A corrupt InfoROM has been detected in GPU {name}.", TRIAGE): gpu["inforom_image"] == "N/A",
        (f"SRAM Threshold Count exceeded on GPU {name}: 1", ISOLATE): gpu["ecc"]["sram_threshold_exceeded"] == "Yes",
        ("Fabric Manager: the GPU is not initialized.", TRIAGE): not has_cuda(board, gpu),
    }
    return [error for error, is_true in found.items() if is_true]


def has_cuda(board: Board, gpu: Facts) -> bool:
    """Return whether CUDA can use a GPU: its fabric must be initialized."""
    return board.is_fabric_up and not gpu["fabric"]["is_stuck"]


def _needs_cuda(board: Board, gpu: Facts, _: dict[str, float]) -> list[Error]:
    return [] if has_cuda(board, gpu) else [("Error using CUDA API cuInit", MONITOR)]


def _pcie(board: Board, gpu: Facts, thresholds: dict[str, float]) -> list[Error]:
    found = _needs_cuda(board, gpu, thresholds)
    for what, value, minimum in (("generation", gpu["pcie_gen"], 3), ("width", gpu["pcie_width"], 16)):
        if value < minimum:
            text = f"GPU {gpu['index']} is running at PCI link {what} {value}, which is below the minimum of {minimum}"
            found.append((text, CONFIG))
    return found


def _memory_bandwidth(board: Board, gpu: Facts, thresholds: dict[str, float]) -> list[Error]:
    minimum, rate = thresholds["memory_bandwidth.minimum_bandwidth"], gpu["memory_mb_s"]
    text = (f"GPU {gpu['index']} only achieved a memory bandwidth of {rate / 1000:.2f} GB/s, failing to meet "
            f"{minimum / 1000:.2f} GB/s for test 1")  # fmt: skip
    return _needs_cuda(board, gpu, thresholds) + ([(text, TRIAGE)] if rate < minimum else [])


def _stress_gflops(gpu: Facts) -> float:
    """Return the rate of matrix products at the highest clock of the GPU."""
    clock: float = min(gpu["sm_clock_mhz"], gpu["boost_clock_mhz"])
    return float(gpu["stress_gflops"]) * clock / 1980


def _targeted_stress(board: Board, gpu: Facts, thresholds: dict[str, float]) -> list[Error]:
    target, rate = thresholds["targeted_stress.target_stress"], _stress_gflops(gpu)
    text = f"Max stress level of {rate:.1f} did not reach desired stress level of {target:.1f} for GPU {gpu['index']}"
    return _needs_cuda(board, gpu, thresholds) + ([(text, TRIAGE)] if rate < 0.95 * target else [])


def _highest_power_w(gpu: Facts) -> float:
    return float(min(gpu["highest_power_w"], gpu["current_power_limit_w"]))


def _targeted_power(board: Board, gpu: Facts, thresholds: dict[str, float]) -> list[Error]:
    minimum, power = 0.75 * thresholds["targeted_power.target_power"], _highest_power_w(gpu)
    is_short = power < minimum and gpu["current_power_limit_w"] > minimum
    text = (f"Max power of {power:.1f} did not reach desired power minimum target_power_min_ratio of {minimum:.1f} "
            f"for GPU {gpu['index']}")  # fmt: skip
    return _needs_cuda(board, gpu, thresholds) + ([(text, TRIAGE)] if is_short else [])


def _power_info(gpu: Facts, thresholds: dict[str, float]) -> list[str]:
    minimum, limit = 0.75 * thresholds["targeted_power.target_power"], gpu["current_power_limit_w"]
    power = _highest_power_w(gpu)
    info = [f"GPU {gpu['index']} max power: {power:.1f} W average power usage: {power * 0.95:.1f} W"]
    if power < minimum and limit <= minimum:
        short = f"Max power of {power:.0f} did not reach desired power minimum target_power_min_ratio of {minimum:.0f}"
        info.insert(0, f"{short} for GPU {gpu['index']} because the enforced power limit has been set to {limit:.0f}")
    return info


_ERRORS: dict[str, Callable[[Board, Facts, dict[str, float]], list[Error]]] = {
    **dict.fromkeys(_CATEGORIES, _needs_cuda),
    "software": _software,
    "pcie": _pcie,
    "memory_bandwidth": _memory_bandwidth,
    "targeted_stress": _targeted_stress,
    "targeted_power": _targeted_power,
}
_INFO: dict[str, Callable[[Facts, dict[str, float]], list[str]]] = {
    "memory": lambda *_: ["Allocated 74652319744 bytes (87.5%)"],
    "targeted_stress": lambda gpu, _: [f"GPU {gpu['index']} relative stress level\t{_stress_gflops(gpu):.0f}"],
    "targeted_power": _power_info,
}


def _form_4(gpus: list[Facts], tests: dict[str, list[Result]], version: str, board: Board) -> Facts:
    categories: dict[str, list[Facts]] = {}
    for name, results in tests.items():
        entities = [
            {"entity_group": "GPU", "entity_group_id": 1, "entity_id": gpu["index"], **result}
            for gpu, result in zip(gpus, results, strict=True)
            if result["status"]
        ]
        words = {result["status"] for result in results}
        summary = next((word for word in ("Fail", "Skip") if word in words), "Pass")
        test = {"name": name, "results": entities, "test_summary": {"status": summary}}
        categories.setdefault(_CATEGORIES[name], []).append(test)
    entities_of = [{"entity_id": gpu["index"], "device_id": "2330", "serial_num": gpu["serial"]} for gpu in gpus]
    return {
        "DCGM Diagnostic": {
            "test_categories": [{"category": name, "tests": each} for name, each in categories.items()]
        },
        "entity_groups": [{"entities": entities_of, "entity_group": "GPU", "entity_group_id": 1}],
        "metadata": {"Driver Version Detected": board.loaded_version, "simulated": SIMULATED, "version": version},
    }


def _form_3(gpus: list[Facts], tests: dict[str, list[Result]], version: str, board: Board) -> Facts:
    software = [each for result in tests["software"] for each in result.get("warnings", [])]
    deployment: list[Facts] = [{"name": name, "results": [{"status": "Pass"}]} for name in _DEPLOYMENT_3]
    if software:
        texts = [
            {"warnings": each["warning"], **{key: each[key] for key in each if key != "warning"}} for each in software
        ]
        deployment[_DEPLOYMENT_3.index("Page Retirement/Row Remap")]["results"] = [
            {"status": "Fail", "warnings": texts}
        ]
    categories: dict[str, list[Facts]] = {"Deployment": deployment}
    for name, results in tests.items():
        if name in _NAMES_3:
            listed = [
                {"gpu_id": str(gpu["index"]), **result} if result["status"] else None
                for gpu, result in zip(gpus, results, strict=True)
            ]
            categories.setdefault(_CATEGORIES[name], []).append({"name": _NAMES_3[name], "results": listed})
    return {
        "DCGM GPU Diagnostic": {
            "test_categories": [{"category": name, "tests": each} for name, each in categories.items()]
        },
        "Driver Version Detected": board.loaded_version,
        "GPU Device IDs": ["2330"] * len(gpus),
        "GPU Device Serials": {str(gpu["index"]): gpu["serial"] for gpu in gpus},
        "simulated": SIMULATED,
        "version": version,
    }
