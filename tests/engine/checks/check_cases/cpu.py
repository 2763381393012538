"""Cases of the checks of processors."""

from __future__ import annotations

from check_cases.case import FAIL, NOT_APPLICABLE, UNKNOWN, Bad, Sample

from sovctl.engine.checks.definitions.cpu import all_online, governor, numa_nodes

SAMPLES = {
    "cpu.numa-nodes": Sample(
        numa_nodes.Expected(numa_nodes=2),
        {"container": "none\n", "nodes": "0-1\n"},
        {
            "eight": Bad({"nodes": "0-7\n"}, FAIL, "2 NUMA nodes, got 8"),
            "garbled": Bad({"nodes": "all\n"}, UNKNOWN, "a list of CPUs"),
            "container": Bad({"container": "lxc\n"}, NOT_APPLICABLE, "lxc"),
        },
        ("none", "0-1"),
    ),
    "cpu.all-online": Sample(
        all_online.Expected(),
        {"present": "0-3\n", "online": "0-3\n", "count": "4\n", "smt": "on\n"},
        {
            "one-offline": Bad({"online": "0,2-3\n", "count": "3\n"}, FAIL, "offline: 1"),
            "not-half": Bad({"online": "0-2\n", "count": "3\n", "smt": "off\n"}, FAIL, "offline: 3"),
            "unknown-word": Bad({"smt": "maybe\n"}, UNKNOWN, "a state of SMT"),
            "two-views": Bad({"count": "3\n"}, UNKNOWN, "/proc/cpuinfo"),
            "garbled": Bad({"online": "3-0\n"}, UNKNOWN, "a list of CPUs"),
        },
        ("0-3", "4\n".strip(), "on\n".strip()),
    ),
    "cpu.governor": Sample(
        governor.Expected(governor="performance"),
        {"container": "none\n", "governors": "      4 performance\n4\n"},
        {
            "other": Bad({"governors": "      4 powersave\n4\n"}, FAIL, "powersave on 4"),
            "some": Bad({"governors": "      3 performance\n4\n"}, UNKNOWN, "of 4 CPUs, got 3"),
            "without-control": Bad({"governors": "4\n"}, NOT_APPLICABLE, "none of 4"),
            "container": Bad({"container": "systemd-nspawn\n"}, NOT_APPLICABLE, "systemd-nspawn"),
        },
        ("none",),
    ),
}
