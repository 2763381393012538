"""Judging of 1,024 nodes from recorded outputs: seconds of all checks, on two cores.

    make bench-judge_scale                prints a table, writes build/bench/judge_scale.json
    python -m bench.judge_scale --check   exits with 1 if the target is missed

Every node is a healthy DGX B200 with serial numbers, counters and temperatures of its own (`bench/healthy`). Each check
of a node is judged once for each node, and each check that compares nodes once for all. As in `sovctl verify`, each of
two processes reads and judges half of the nodes. The time of a process is its processor time, which other work on the
machine affects less; the target is compared with the longer one, plus the comparison of the nodes.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from sovctl.compliance.verdict import Verdict
from sovctl.engine.checks.model.check import judge
from sovctl.engine.checks.model.fleet_check import SOURCE, Expected, FleetCheck
from sovctl.engine.checks.model.probe import CommandOutput, joined
from sovctl.engine.checks.probes.inventory import inventory_of
from sovctl.engine.checks.registry import CHECKS
from sovctl.engine.checks.runner.observer import collect_rarely
from sovctl.support.atomic_files import write_atomic

from .healthy.answers import platforms, recorded, targets

NODES, PROCESSES, PLATFORM = 1024, 2, "dgx-b200"
MAX_S = 20.0  # target of issue 17
RESULT = Path("build/bench/judge_scale.json")


@dataclass(frozen=True)
class Share:
    """The result of one process.

    Args:
        verdicts: number of results by verdict.
        inventories: of its nodes, as JSON.
    """

    verdicts: dict[str, int]
    inventories: dict[str, str]
    processor_s: float


@dataclass(frozen=True)
class Result:
    """All nodes. `seconds` is the time on two free cores: the longer process and the comparison of the nodes."""

    nodes: int
    results: int
    megabytes: float
    seconds: float
    compare_s: float
    wall_s: float
    verdicts: dict[str, int]

    @property
    def is_met(self) -> bool:
        """Whether the time is below the target, and no healthy node alarms."""
        return self.seconds < MAX_S and set(self.verdicts) <= {Verdict.PASS.value, Verdict.NOT_APPLICABLE.value}


def record(folder: Path, nodes: int) -> None:
    """Write the outputs of every node: exit code and standard output by check and command."""
    platform = platforms()[PLATFORM]
    for number in range(nodes):
        name = f"node-{number:04d}"
        found = recorded(platform, name, random.Random(number))
        texts = {key: [output.exit_code, output.stdout] for key, output in found.items()}
        (folder / f"{name}.json").write_text(json.dumps(texts))


def judge_nodes(files: Sequence[Path]) -> Share:
    """Read and judge the outputs of some nodes."""
    began = time.process_time()
    collect_rarely()  # as each process of `sovctl verify`
    verdicts: Counter[str] = Counter()
    inventories = {}
    for file in files:
        outputs = {key: CommandOutput(code, text, "") for key, (code, text) in json.loads(file.read_text()).items()}
        for target in targets(PLATFORM):
            output = joined(target.of(outputs))
            verdicts[judge(target.check, output, target.expectation).verdict.value] += 1
            if target.check.id == SOURCE:
                inventories[file.stem] = inventory_of(output, has_gpus=True).to_json()
    return Share(dict(verdicts), inventories, time.process_time() - began)


def compared(inventories: dict[str, str]) -> Counter[str]:
    """Return the verdicts of the checks that compare all nodes."""
    expected = Expected(subject="all", nodes=tuple(inventories))
    output = joined({node: CommandOutput(0, text, "") for node, text in inventories.items()})
    return Counter(judge(check, output, expected).verdict.value for check in CHECKS if isinstance(check, FleetCheck))


def measured(folder: Path) -> Result:
    """Judge all recorded nodes."""
    files = sorted(folder.glob("*.json"))
    began = time.perf_counter()
    with ProcessPoolExecutor(PROCESSES) as pool:
        shares = list(pool.map(judge_nodes, [files[start::PROCESSES] for start in range(PROCESSES)]))
    began_comparison = time.process_time()
    verdicts = compared({node: text for share in shares for node, text in share.inventories.items()})
    compare_s = time.process_time() - began_comparison
    for share in shares:
        verdicts.update(share.verdicts)
    return Result(
        nodes=len(files),
        results=sum(verdicts.values()),
        megabytes=sum(file.stat().st_size for file in files) / 1e6,
        seconds=max(share.processor_s for share in shares) + compare_s,
        compare_s=compare_s,
        wall_s=time.perf_counter() - began,
        verdicts=dict(sorted(verdicts.items())),
    )


def main() -> int:
    """Measure, print and write the result; return 1 if the target is missed and `--check` is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 if the target is missed")
    parser.add_argument("--nodes", type=int, default=NODES)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        record(Path(name), options.nodes)
        result = measured(Path(name))
    print(
        f"{result.nodes} nodes, {result.results} results of {result.megabytes:.0f} MB: {result.seconds:.1f} s on two "
        f"free cores (target < {MAX_S:.0f}), {result.compare_s:.1f} s of it to compare nodes; {result.wall_s:.1f} s "
        f"on this machine; {result.verdicts}: {'met' if result.is_met else 'MISSED'}"
    )
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(RESULT, json.dumps({**asdict(result), "met": result.is_met}, indent=1) + "\n")
    return 1 if options.check and not result.is_met else 0


if __name__ == "__main__":
    sys.exit(main())
