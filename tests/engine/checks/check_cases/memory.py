"""Cases of the checks of main memory."""

from __future__ import annotations

from check_cases.bmc import ELSEWHERE, MACHINE
from check_cases.case import FAIL, NOT_APPLICABLE, UNKNOWN, WARN, Bad, Sample, boot

from sovctl.engine.checks.definitions.memory import _memory_errors, size, swap_off, transparent_hugepages

ERRORS = {
    "container": "none\n",
    "machine": "none\n",
    "errors": "mc0 ce=3 ue=0\nmc1 ce=0 ue=0\n",
    "boot": boot(864000.11),
}
CONTAINER = Bad({"container": "systemd-nspawn\n"}, NOT_APPLICABLE, "systemd-nspawn")

SOCKETS = """# dmidecode 3.4
SMBIOS 3.6.0 present.

Handle 0x0011, DMI type 17, 92 bytes
Memory Device
\tSize: 64 GB
\tLocator: A1
\tConfigured Memory Speed: 4800 MT/s

Handle 0x0012, DMI type 17, 92 bytes
Memory Device
\tSize: 64 GB
\tLocator: B1
\tConfigured Memory Speed: 4800 MT/s
"""
EMPTY = SOCKETS.replace("64 GB\n\tLocator: B1", "No Module Installed\n\tLocator: B1")

SAMPLES = {
    "memory.size": Sample(
        size.Expected(memory_gib=128),
        {**MACHINE, "sockets": SOCKETS, "kernel": "MemTotal:       132000000 kB\nMemFree: 1 kB\n"},
        {
            "empty": Bad({"sockets": EMPTY}, FAIL, "128 GiB, got 64 GiB in 1 modules; empty: B1"),
            "mapped-out": Bad(
                {"kernel": "MemTotal:       65000000 kB\n"}, FAIL, "128 GiB in use by the kernel, got 61"
            ),
            "unequal": Bad({"sockets": SOCKETS.replace("4800", "4400", 1)}, WARN, "one size and speed"),
            "larger": Bad({"sockets": SOCKETS.replace("64 GB", "128 GB", 1)}, FAIL, "192 GiB in use"),
            "unknown-size": Bad({"sockets": SOCKETS.replace("64 GB", "Unknown", 1)}, FAIL, "128 GiB, got 64"),
            "without-tool": Bad({"sockets": (127, "")}, UNKNOWN, "127"),
            **ELSEWHERE,
        },
        ("none", "SMBIOS", "MemTotal"),
    ),
    "memory.transparent-hugepages": Sample(
        transparent_hugepages.Expected(mode="madvise"),
        {"container": "none\n", "modes": "always [madvise] never\n"},
        {
            "always": Bad({"modes": "[always] madvise never\n"}, FAIL, "mode madvise, got always"),
            "garbled": Bad({"modes": "madvise\n"}, UNKNOWN, "one mode"),
            "container": CONTAINER,
        },
        ("none", "madvise"),
    ),
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
