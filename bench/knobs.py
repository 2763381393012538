"""Is each fault of the simulated hardware found on a node of a lab, by exactly the checks that should find it?

    python -m bench.knobs                   # makes the lab `knobs` if it is not up; 75 minutes or more
    python -m bench.knobs --only nccl       # faults whose name contains this text

Each fault is set on n2, which serves nothing; `sovctl verify --level full` runs all checks of the node that read
hardware; the verdicts other than PASS and N/A are compared with the row of the fault. Prints one line for each fault,
and writes build/bench/knobs.json. GPUs and adapters are simulated.

A row is compared without checks that do not apply to the node, such as those of Blackwell GPUs, and without rates,
which only a node with recorded counters has. Where a fault hides the processes of the GPUs, active tests do not start,
and are UNKNOWN.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

from sovctl.engine.checks.model.check import Level
from sovctl.engine.checks.registry import BY_ID
from sovctl.engine.lab.hardware.fault_table import FAULTS
from sovctl.engine.lab.hardware.fault_tables.fault import Fault
from sovctl.engine.lab.hardware.faults import clear_fault, set_fault
from sovctl.engine.lab.layout import Lab, node_named
from sovctl.support.atomic_files import write_atomic

from .drifts.lab import LabSite

RESULT = Path("build/bench/knobs.json")
NODE, INDEX = "n2", 3
TOPICS = (
    "bandwidth", "bmc", "bus", "dcgm", "diagnostic", "driver", "firmware", "gpu", "host", "ib", "memory", "nccl",
    "nvlink", "vram", "xid",
)  # fmt: skip
QUIET = ("PASS", "N/A")
HIDES_PROCESSES = ("gpu-lost",)
RATE = "-rate"


def verdicts(site: LabSite, node: str = NODE) -> dict[str, str]:
    """Return the verdicts of all checks of a node that read hardware, without rates."""
    patterns = [word for topic in TOPICS for word in ("--check", f"{topic}.*")]
    text = site.sovctl("verify", str(site.file), "--level", "full", "--node", node, *patterns, "--json", accept=(0, 1))
    found = {each["check_id"]: each["verdict"] for each in json.loads(text)["results"]}
    return {check: verdict for check, verdict in found.items() if not check.endswith(RATE)}


def expected(fault: Fault, applicable: Container[str]) -> dict[str, str]:
    """Return the verdicts of the row of a fault that one node shows at level full.

    Args:
        applicable: ids of the checks that have a result on the healthy node.
    """
    row = {check: verdict for check, verdict in fault.expects.items() if check in applicable and verdict not in QUIET}
    row = {check: verdict for check, verdict in row.items() if not check.startswith("ib.pair-")}
    if fault.name in HIDES_PROCESSES:
        row |= {check: "UNKNOWN" for check in row if BY_ID[check].level is Level.FULL}
    return row


def run_fault(site: LabSite, fault: Fault, applicable: Container[str]) -> dict[str, Any]:
    """Set a fault, verify, and clear it; return what was found and what should have been."""
    begun = time.monotonic()
    set_fault(Lab(site.name), node_named(NODE), fault, index=INDEX)
    try:
        found = {check: verdict for check, verdict in verdicts(site).items() if verdict not in QUIET}
    finally:
        clear_fault(Lab(site.name), node_named(NODE), None)
    wanted = expected(fault, applicable)
    return {
        "name": fault.name,
        "seconds": round(time.monotonic() - begun, 1),
        "found": len(wanted),
        "missed": difference(wanted, found),
        "false": difference(found, wanted),
    }


def difference(one: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str]:
    """Return the verdicts of one that differ from those of the other."""
    return {check: verdict for check, verdict in one.items() if other.get(check) != verdict}


def main() -> int:
    """Run all faults, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="knobs", help="name of the lab")
    parser.add_argument("--directory", type=Path, default=Path("build/knobs-site"))
    parser.add_argument("--only", default="", help="only faults whose name contains this text")
    parser.add_argument(
        "--check", action="store_true", help="exit with 1 if other checks than those of its row find a fault"
    )
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("not run: the lab requires root")
        return 0
    site = LabSite(options.name, options.directory.resolve() / "site.yaml")
    site.sovctl("lab", "up", "--name", site.name, "--directory", str(site.file.parent))
    if site.plan()["changes"]:
        site.apply()
    before = verdicts(site)
    applicable = {check for check, verdict in before.items() if verdict != "N/A"}
    healthy = {check: verdict for check, verdict in before.items() if verdict not in QUIET}
    print(f"without a fault: {healthy or 'all PASS or N/A'}", flush=True)
    rows: list[dict[str, Any]] = []
    for fault in FAULTS:
        if options.only not in fault.name:
            continue
        row = run_fault(site, fault, applicable)
        rows.append(row)
        is_exact = not row["missed"] and not row["false"]
        print(
            f"{fault.name:24} {row['seconds']:6.1f} s  "
            + (f"exactly {row['found']} checks" if is_exact else f"missed {row['missed']}, false {row['false']}"),
            flush=True,
        )
        write_atomic(RESULT, json.dumps({"simulated": True, "healthy": healthy, "faults": rows}, indent=1) + "\n")
    wrong = [row["name"] for row in rows if row["missed"] or row["false"]]
    print(f"{len(rows)} faults, {len(wrong)} not found by exactly their checks: {', '.join(wrong) or 'none'}")
    return 1 if options.check and (wrong or healthy) else 0


if __name__ == "__main__":
    sys.exit(main())
