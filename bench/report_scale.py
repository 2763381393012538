"""Reports of 100 nodes and 200 checks: seconds until all files are written, and the verifier's time.

    make bench-report_scale                prints a table, writes build/bench/report_scale.json
    python -m bench.report_scale --check   exits with 1 if the target is missed

The evidence (20,000 records) is stored before the measurement. The report is published as `sovctl report` does: read
and verify the evidence, decide the controls, render and validate all files, and write them durably. The target is
compared with the processor time, which other work on the machine affects less; the elapsed time is printed.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sovctl.compliance.audit.report_folder import verify_report
from sovctl.compliance.audit.result import AuditResult
from sovctl.compliance.controls.framework import builtin_pack, load_pack
from sovctl.engine.checks.registry import KNOWN_CHECKS
from sovctl.support.atomic_files import write_atomic

from .reported import site

NODES, CHECKS, PACK = 100, 200, "nist-800-53-moderate"
MAX_S = 10.0  # target of issue 18
RESULT = Path("build/bench/report_scale.json")


@dataclass
class Result:
    """One report. Times are processor time, in seconds."""

    nodes: int
    checks: int
    records: int = 0
    publish_s: float = 0.0
    publish_elapsed_s: float = 0.0
    verify_s: float = 0.0
    peak_mib: float = 0.0
    files: dict[str, int] = field(default_factory=dict)
    """Bytes by name, without raw output."""
    findings: int = 0

    @property
    def is_met(self) -> bool:
        """Whether the time is below the target, and the verifier has no finding."""
        return self.publish_s < MAX_S and not self.findings


def measured(folder: Path, nodes: int, checks: int) -> Result:
    """Store evidence, publish its report, and verify it."""
    pack = load_pack(builtin_pack(PACK))
    others = sorted(KNOWN_CHECKS - pack.checks())
    chosen = [*sorted(pack.checks()), *others][:checks]
    site.fill(folder, chosen, nodes)
    found = Result(nodes, len(chosen))
    (report, found.publish_s, found.publish_elapsed_s) = _timed(lambda: site.report(folder, pack))
    found.records = len(report.document["evidence"])
    found.files = {
        str(path.relative_to(report.folder)): path.stat().st_size
        for path in sorted(report.folder.rglob("*"))
        if path.is_file() and path.parent.name != "raw"
    }
    result = AuditResult()
    (_, found.verify_s, _) = _timed(lambda: verify_report(report.folder, result))
    found.findings = len(result.findings)
    found.peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found


def _timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    began, began_at = time.process_time(), time.perf_counter()
    value = work()
    return value, time.process_time() - began, time.perf_counter() - began_at


def main() -> int:
    """Measure, print and write the result; return 1 if the target is missed and `--check` is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 if the target is missed")
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--checks", type=int, default=CHECKS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        found = measured(Path(name), options.nodes, options.checks)
    print(
        f"{found.nodes} nodes x {found.checks} checks, {found.records} records: published in {found.publish_s:.1f} s "
        f"of processor time (target < {MAX_S:.0f}), {found.publish_elapsed_s:.1f} s on this machine; verified in "
        f"{found.verify_s:.1f} s with {found.findings} findings; peak {found.peak_mib:.0f} MiB: "
        f"{'met' if found.is_met else 'MISSED'}"
    )
    for file, size in found.files.items():
        print(f"  {file:44} {size / 1e6:8.2f} MB")
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(RESULT, json.dumps({**asdict(found), "met": found.is_met}, indent=1) + "\n")
    return 1 if options.check and not found.is_met else 0


if __name__ == "__main__":
    sys.exit(main())
