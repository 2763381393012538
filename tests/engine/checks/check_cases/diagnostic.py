"""Cases of `diagnostic.*`: DCGM 4.x and 3.x, and the errors of other parsers."""

from __future__ import annotations

import json

from check_cases.case import FAIL, UNKNOWN, WARN, Bad, Sample
from dcgm_specimens import RUN_1, RUN_2, RUN_3, RUN_4, diag_3, diag_4, error

from sovctl.engine.checks.definitions.diagnostic._dcgm_check import Expected

NODE = ("n1",)
EIGHT = Expected(nodes=NODE, gpu_count=8)
MEMORY = error("GPU 5 had uncorrectable memory errors and row remapping failed.", severity=2)
FAILED = {"status": "Fail", "warnings": [MEMORY]}
REFUSED = {"DCGM Diagnostic": {"runtime_error": "Error: Unable to complete diagnostic.", "version": "4.6.0"}}
PERSISTENCE = error("Persistence Mode: Persistence mode for GPU 0 is disabled.", severity=5)


def shared(tests: tuple[str, ...], last: str) -> dict[str, Bad]:
    """Return the cases that every check of DCGM has; `last` is a required test with a result per GPU."""
    good = diag_4(tests)
    return {
        "the last GPU failed": Bad({"diagnostic": (1, diag_4(tests, changes={(last, 7): FAILED}))}, FAIL, "GPU 7"),
        "a failure with exit code 0": Bad({"diagnostic": diag_4(tests, changes={(last, 1): FAILED})}, FAIL, "GPU 1"),
        "a failure of the test as a whole": Bad(
            {"diagnostic": (1, diag_4(tests, changes={(last, None): {"status": "Fail"}}))}, FAIL, "of node"
        ),
        "a warning of DCGM": Bad(
            {"diagnostic": diag_4(tests, changes={(last, 2): {"status": "Warn"}})}, WARN, f"{last} of GPU 2"
        ),
        "a skipped GPU": Bad(
            {"diagnostic": diag_4(tests, changes={(last, 3): {"status": "Skip"}})}, UNKNOWN, "got Skip"
        ),
        "a skipped test": Bad(
            {"diagnostic": diag_4(tests, changes={(last, gpu): {"status": "Skip"} for gpu in range(8)})},
            UNKNOWN,
            "got Skip",
        ),
        "a GPU without a result": Bad(
            {"diagnostic": diag_4(tests, changes={(last, 4): None})}, UNKNOWN, f"results of {last} for 8 GPUs"
        ),
        "a pass with an error that isolates": Bad(
            {"diagnostic": diag_4(tests, changes={(last, 5): {"warnings": [MEMORY]}})}, UNKNOWN, "isolate the GPU"
        ),
        "a pass with an error of the test as a whole": Bad(
            {"diagnostic": diag_4(tests, changes={(last, None): {"warnings": [MEMORY]}})}, UNKNOWN, "of node"
        ),
        "a pass with an error to monitor": Bad(
            {"diagnostic": diag_4(tests, changes={(last, 5): {"warnings": [error("slow", severity=1)]}})},
            WARN,
            "monitor it",
        ),
        "a GPU that DCGM does not see": Bad({"diagnostic": diag_4(tests, gpus=7)}, FAIL, "8 GPUs in DCGM, got 7"),
        "a GPU that DCGM does not know": Bad(
            {"diagnostic": diag_4(tests, changes={(last, None): {"info": ["Running in generic mode: no threshold"]}})},
            UNKNOWN,
            "generic mode",
        ),
        "an unknown status": Bad(
            {"diagnostic": diag_4(tests, changes={(last, 0): {"status": "Maybe"}})}, UNKNOWN, "Maybe"
        ),
        "two results of one GPU": Bad(
            {"diagnostic": diag_4(tests, changes={(last, 0): {"entity_id": 1}})}, UNKNOWN, "one result of"
        ),
        "both forms": Bad(
            {"diagnostic": json.dumps({**json.loads(good), "DCGM GPU Diagnostic": {}})}, UNKNOWN, "one of the keys"
        ),
        "no results": Bad({"diagnostic": (1, json.dumps(REFUSED))}, UNKNOWN, "Unable to complete"),
        "no program": Bad({"diagnostic": (127, "")}, UNKNOWN, "datacenter-gpu-manager-4"),
        "no host engine": Bad(
            {"diagnostic": (1, "Error: unable to establish a connection to the specified host: localhost")},
            UNKNOWN,
            "JSON",
        ),
        "an exit code without a failure": Bad({"diagnostic": (3, good)}, UNKNOWN, "got 3"),
        "no test": Bad(
            {"diagnostic": diag_4([each for each in tests if each != last] or ["memtest"])},
            UNKNOWN,
            f"result of {last}",
        ),
    }


def sample(tests: tuple[str, ...], last: str, *, expected: Expected = EIGHT, **more: Bad) -> Sample:
    return Sample(expected, {"diagnostic": diag_4(tests)}, {**shared(tests, last), **more}, (f'"name": "{last}"',))


def version_3(tests: tuple[str, ...], last: str) -> dict[str, Bad]:
    """Return the cases in the form of DCGM 3.x."""
    return {
        "3.x: the last GPU failed": Bad(
            {"diagnostic": (1, diag_3(tests, changes={(last, 7): FAILED}))}, FAIL, "row remapping failed"
        ),
        "3.x: a skipped GPU": Bad(
            {"diagnostic": diag_3(tests, changes={(last, 7): {"status": "Skip"}})}, UNKNOWN, f"{last} of GPU 7"
        ),
        "3.x: a GPU without a result": Bad(
            {"diagnostic": diag_3(tests, changes={(last, 0): None})}, UNKNOWN, f"results of {last} for 8 GPUs"
        ),
        "3.x: a deployment test failed": Bad(
            {
                "diagnostic": (
                    1,
                    diag_3(
                        tests,
                        changes={
                            ("Inforom", None): {
                                "status": "Fail",
                                "gpu_id": 6,
                                "warnings": [{"warnings": "corrupt inforom", "error_id": 9, "error_severity": 2}],
                            }
                        },
                    ),
                )
            },
            FAIL,
            "Inforom of GPU 6 to pass, got Fail: corrupt inforom (isolate the GPU)",
        ),
        "3.x: a skipped deployment test": Bad(
            {"diagnostic": diag_3(tests, changes={("Persistence Mode", None): {"status": "Skip"}})},
            UNKNOWN,
            "Persistence Mode of node",
        ),
    }


def target(value: float) -> Expected:
    return Expected(nodes=NODE, gpu_count=8, target=value)


POWER_INFO = {"info": ["Max power of 480 did not reach desired power minimum target_power_min_ratio of 525 for GPU 2"]}

SAMPLES: dict[str, Sample] = {
    "diagnostic.dcgm-r1": sample(
        RUN_1,
        "software",
        persistence=Bad(
            {
                "diagnostic": (
                    1,
                    diag_4(RUN_1, changes={("software", 0): {"status": "Fail", "warnings": [PERSISTENCE]}}),
                )
            },
            FAIL,
            "correct the configuration",
        ),
    ),
    "diagnostic.dcgm-r2": sample(RUN_2, "pcie", **version_3(RUN_2, "memory")),
    "diagnostic.dcgm-r3": sample(
        RUN_3,
        "targeted_power",
        **version_3(RUN_3, "memory_bandwidth"),
        optional=Bad(
            {"diagnostic": (1, diag_4(RUN_3, changes={("nvbandwidth", 1): FAILED}))}, FAIL, "nvbandwidth of GPU 1"
        ),
    ),
    "diagnostic.dcgm-r4": sample(RUN_4, "pulse_test", **version_3(RUN_4, "memtest")),
    "diagnostic.memory-bandwidth": sample(
        ("software", "memory_bandwidth"), "memory_bandwidth", expected=target(1_905_000)
    ),
    "diagnostic.targeted-stress": sample(("software", "targeted_stress"), "targeted_stress", expected=target(29_250)),
    "diagnostic.targeted-power": sample(
        ("software", "targeted_power"),
        "targeted_power",
        expected=target(700),
        limited=Bad(
            {"diagnostic": diag_4(("software", "targeted_power"), changes={("targeted_power", 2): POWER_INFO})},
            FAIL,
            "700 W on GPU 2, got a power limit below it",
        ),
    ),
    "diagnostic.soak": sample(
        ("software", "diagnostic"), "diagnostic", expected=Expected(nodes=NODE, gpu_count=8, duration_s=14_400)
    ),
}
