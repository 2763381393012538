"""Facts of 50 nodes over ssh: sovctl, `ansible -m setup` and pyinfra against the same servers, in one run.

    make bench-facts_gather                 prints a table, writes build/bench/facts_gather.json
    python -m bench.facts_gather --check   exits with 1 if the target is missed
    python -m bench.facts_gather --nodes 10 --rounds 1

The nodes are real ssh servers on loopback addresses of this machine, so that the work on the nodes is also done by its
processors. Requires root, sshd and sudo. The contenders take turns; the best round of each counts.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import yaml

from sovctl.engine.plan.build import requests
from sovctl.engine.site.site import Site
from sovctl.engine.validation.presets import FOLDER as PRESETS
from sovctl.support.atomic_files import write_atomic

from .gathering.contenders import CONTENDERS, Bench
from .gathering.servers import Servers, can_serve, ssh_servers

NODES, ROUNDS = 50, 3
TARGET = 3.0  # times as fast as the better of the other two, issue 16
OURS, OTHERS = "sovctl", ("ansible -m setup", "pyinfra fact")


@dataclass(frozen=True)
class Result:
    """Best round of one contender: duration, and processor time on the controller and on all nodes."""

    contender: str
    nodes: int
    seconds: float
    controller_s: float
    nodes_s: float


def bench_of(folder: Path, servers: Servers) -> Bench:
    """Return the input of the contenders: the site of the lab with a GPU node at each address, and its gateway last."""
    values = yaml.safe_load((PRESETS / "lab.yaml").read_text())
    gpu, service = values["node_groups"]
    *others, last = servers.addresses
    gpu["nodes"] = [{"name": f"n{number}", "address": each} for number, each in enumerate(others, 1)]
    service["nodes"] = [{"name": "s1", "address": last}]
    (folder / "site.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
    opened = Site.open(folder / "site.yaml", touches_nodes=False)
    files = {"key_file": str(servers.key_file), "known_hosts_file": str(servers.known_hosts_file)}
    access = opened.spec.access.model_copy(update={**files, "port": servers.port, "user": "root"})
    spec = opened.spec.model_copy(update={"access": access})
    return Bench(servers, folder, spec, requests(replace(opened.context(), spec=spec)))


def measured(name: str, bench: Bench) -> Result:
    """Run one contender.

    Raises:
        SystemExit: it did not return the facts of every node.
    """
    before, of_nodes, began = os.times(), bench.servers.processor_s(), time.perf_counter()
    complete = CONTENDERS[name](bench)
    seconds, after = time.perf_counter() - began, os.times()
    nodes = len(bench.servers.addresses)
    if complete != nodes:
        raise SystemExit(f"{name} returned the facts of {complete} of {nodes} nodes")
    own = after.user - before.user + after.system - before.system
    children = after.children_user - before.children_user + after.children_system - before.children_system
    return Result(name, nodes, seconds, own + children, bench.servers.processor_s() - of_nodes)


def main() -> int:
    """Measure, print and write the results; return 1 if the target is missed and `--check` is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="exit with 1 if the target is missed")
    parser.add_argument("--nodes", type=int, default=NODES, help="number of ssh servers, at most 250")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds; the best one counts")
    options = parser.parse_args()
    if not can_serve():
        raise SystemExit("requires root, sshd and sudo: make test-packages")
    best: dict[str, Result] = {}
    addresses = [f"127.50.0.{number}" for number in range(1, options.nodes + 1)]
    with tempfile.TemporaryDirectory() as name, ssh_servers(Path(name), addresses) as servers:
        bench = bench_of(Path(name), servers)
        for _ in range(options.rounds):
            for contender in CONTENDERS:
                result = measured(contender, bench)
                best[contender] = min(best.get(contender, result), result, key=lambda each: each.seconds)
    ratio = min(best[each].seconds for each in OTHERS) / best[OURS].seconds
    for each in best.values():
        processor = f"processor: {each.controller_s:6.1f} s controller, {each.nodes_s:6.1f} s nodes"
        sys.stdout.write(f"{each.contender:28} {each.seconds:7.1f} s   {processor}\n")
    is_met = ratio >= TARGET
    verdict = "met" if is_met else "MISSED"
    sys.stdout.write(f"{OURS} is {ratio:.1f} times as fast as the better one (target {TARGET:.0f}): {verdict}\n")
    Path("build/bench").mkdir(parents=True, exist_ok=True)
    text = json.dumps({"results": [asdict(each) for each in best.values()], "ratio": ratio, "met": is_met}, indent=1)
    write_atomic(Path("build/bench/facts_gather.json"), text + "\n")
    return 1 if options.check and not is_met else 0


if __name__ == "__main__":
    sys.exit(main())
