"""Planning of 1,024 nodes from recorded facts: seconds and memory of a whole `sovctl plan --facts`.

    make bench-plan_scale                 prints a table, writes build/bench/plan_scale.json
    python -m bench.plan_scale --check   exits with 1 if a target is missed

The site has the pools of the preset superpod-b200 once for each 32 nodes. The captures are those of new nodes with an
operating system and without anything that sovctl installs, so every resource is a change: the longest plan.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from sovctl.engine.facts import running
from sovctl.engine.plan.build import requests
from sovctl.engine.site.site import Site
from sovctl.engine.validation.presets import FOLDER as PRESETS
from sovctl.support.atomic_files import write_atomic

NODES = 1024
UNIT_NODES = 32  # of the preset's node group
MAX_S, MAX_BYTES = 10.0, 500 * 10**6  # targets of issue 16


def site(nodes: int) -> dict[str, Any]:
    """Return the values of a site.yaml with this number of GPU nodes, in units of the preset."""
    preset: dict[str, Any] = yaml.safe_load((PRESETS / "superpod-b200.yaml").read_text())
    made = copy.deepcopy(preset)
    group, pools = preset["node_groups"][0], preset["pools"]
    made["node_groups"], made["pools"] = preset["node_groups"][1:], []
    for unit in range(nodes // UNIT_NODES):
        names = {node["name"]: f"u{unit}-{node['name']}" for node in group["nodes"]}
        made["node_groups"].append(
            {
                **group,
                "name": f"su{unit}",
                "nodes": [
                    {"name": names[node["name"]], "address": f"10.61.{unit}.{number}"}
                    for number, node in enumerate(group["nodes"], 1)
                ],
            }
        )
        for pool in pools:
            own = {"name": f"{pool['name']}-{unit}", "node_group": f"su{unit}"}
            made["pools"].append(copy.deepcopy({**pool, **own, "nodes": [names[name] for name in pool["nodes"]]}))
    made["gateway"]["routes"] = [{"model": pool["name"], "pool": pool["name"]} for pool in made["pools"]]
    made["gateway"]["clients"] = preset["gateway"]["clients"][:1]
    for name in ("workload", "sizing"):
        made.pop(name, None)
    return made


OS_RELEASE = 'NAME="Ubuntu"\nVERSION_ID="24.04"\nID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\n'
STDOUT = {
    "kernel": "6.8.0-60-generic\n",
    "virtualization": "none\n",
    "started": "UserspaceTimestamp=@1795200000\n",
    "system": "running\n",
    "firmware": "[]\n",
    "attributes": "{}\n",
    "architecture": "x86_64\n",
    "secure-boot": "SecureBoot disabled\n",
    "hardware": '{"governors": [], "gpus": 8, "acs": [], "relaxed_ordering": [], "bridge_power": []}\n',
    "sshd": "## root 10.61.0.1\npubkeyauthentication yes\n",
    "sshd_unit": "Id=ssh.service\nLoadState=loaded\nActiveState=active\nStateChangeTimestamp=@1795200000\n",
    "environment-trees": "{}\n",
    "model-trees": "{}\n",
    "unmanaged": "[]\n",
    "service_accounts": "",
    "unmanaged-accounts": "[]\n",
    "unmanaged-programs": "[]\n",
    "unmanaged-running": "[]\n",
    "packages": "bash\t5.2.21-2ubuntu4\tamd64\tii \nnftables\t1.0.9-1build1\tamd64\tii \n",
    "units": "Id=none.service\nLoadState=not-found\n",
}


def capture(name: str, commands: Iterable[str]) -> dict[str, Any]:
    """Return the capture of a new node, in which other commands print nothing."""
    return {
        "node": name,
        "captured": "2026-11-27T00:00:00Z",
        "commands": {each: {"exit_code": 0, "stdout": STDOUT.get(each, ""), "stderr": ""} for each in commands},
        "files": {},
        "texts": {
            **dict.fromkeys(running.READ),
            running.BOOT_ID: "663a30d8-26c3-4f15-a35f-cc95c37922be\n",
            "/etc/os-release": OS_RELEASE,
        },
    }


def write_site(folder: Path, nodes: int) -> None:
    """Write site.yaml, and the capture of every node in `facts/`."""
    (folder / "site.yaml").write_text(yaml.safe_dump(site(nodes), sort_keys=False))
    (folder / "facts").mkdir()
    opened = Site.open(folder / "site.yaml", touches_nodes=False)
    for name, request in requests(opened.context()).items():
        text = json.dumps(capture(name, request.commands))
        (folder / "facts" / f"{name}.json").write_text(text)


@dataclass(frozen=True)
class Result:
    """One `sovctl plan`. Processor seconds are those of its process, which other work on the machine affects less."""

    nodes: int
    changes: int
    seconds: float
    processor_s: float
    peak_bytes: int

    @property
    def is_met(self) -> bool:
        """Whether processor time and memory are below the targets."""
        return self.processor_s < MAX_S and self.peak_bytes < MAX_BYTES


def measured(folder: Path, nodes: int) -> Result:
    """Run one `sovctl plan`."""
    command = [sys.executable, "-m", "sovctl.cli", "plan", "site.yaml", "--facts", "facts", "--json"]
    with (folder / "plan.json").open("wb") as out:
        began = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=out, env=dict(os.environ, PYTHONPATH=str(Path.cwd())))
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
    if status:
        raise SystemExit(f"sovctl plan ended with status {status}")
    plan = json.loads((folder / "plan.json").read_text())
    processor_s = usage.ru_utime + usage.ru_stime
    return Result(nodes, len(plan["changes"]), seconds, processor_s, usage.ru_maxrss * 1024)


def main() -> int:
    """Measure, print and write the result; return 1 if a target is missed and `--check` is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    parser.add_argument("--nodes", type=int, default=NODES, help="GPU nodes, a multiple of 32")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        write_site(Path(name), options.nodes)
        result = measured(Path(name), options.nodes)
    sys.stdout.write(
        f"{result.nodes} nodes, {result.changes} changes: {result.seconds:.1f} s, "
        f"{result.processor_s:.1f} s of processor (target < {MAX_S:.0f}), "
        f"{result.peak_bytes / 1e6:.0f} MB (target < {MAX_BYTES / 1e6:.0f}): {'met' if result.is_met else 'MISSED'}\n"
    )
    Path("build/bench").mkdir(parents=True, exist_ok=True)
    text = json.dumps({**asdict(result), "met": result.is_met}, indent=1) + "\n"
    write_atomic(Path("build/bench/plan_scale.json"), text)
    return 1 if options.check and not result.is_met else 0


if __name__ == "__main__":
    sys.exit(main())
