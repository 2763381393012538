"""Cases of the checks of main memory."""

from __future__ import annotations

from check_cases.case import FAIL, NOT_APPLICABLE, UNKNOWN, WARN, Bad, Sample, boot

from sovctl.engine.checks.definitions.memory import _memory_errors, swap_off

ERRORS = {
    "container": "none\n",
    "machine": "none\n",
    "errors": "mc0 ce=3 ue=0\nmc1 ce=0 ue=0\n",
    "boot": boot(864000.11),
}
CONTAINER = Bad({"container": "systemd-nspawn\n"}, NOT_APPLICABLE, "systemd-nspawn")

SAMPLES = {
    "memory.no-uncorrectable-errors": Sample(
        _memory_errors.Expected(),
        {name: ERRORS[name] for name in ("container", "machine", "errors")},
        {
            "one": Bad({"errors": "mc0 ce=3 ue=0\nmc1 ce=0 ue=1\n"}, FAIL, "mc1, got 1"),
            "without-edac": Bad({"errors": "\n"}, UNKNOWN, "a memory controller"),
            "container": CONTAINER,
            "virtual-machine": Bad({"machine": "kvm\n"}, NOT_APPLICABLE, "kvm"),
            "unknown-machine": Bad({"machine": "cloud\n"}, UNKNOWN, "a hypervisor"),
        },
        ("none",),
    ),
    "memory.correctable-rate": Sample(
        _memory_errors.Expected(),
        ERRORS,
        {
            "many": Bad({"errors": "mc0 ce=2410 ue=0\n"}, WARN, "got 241"),
            "without-time": Bad({"boot": "soon\n"}, UNKNOWN, "seconds since the boot"),
            "container": CONTAINER,
        },
        ("none", "864000"),
    ),
    "memory.swap-off": Sample(
        swap_off.Expected(),
        {"container": "none\n", "swaps": "Filename\tType\tSize\tUsed\tPriority\n"},
        {
            "in-use": Bad(
                {"swaps": "Filename Type Size Used Priority\n/dev/zram0 partition 8 0 100\n"}, FAIL, "/dev/zram0"
            ),
            "garbled": Bad({"swaps": "none\n"}, UNKNOWN, "Filename"),
            "container": CONTAINER,
        },
        ("none", "Filename"),
    ),
}
