"""Compares autoscaling on fixed hardware with static and reactive replicas over one day.

    python -m bench.scaling [--seed N] [--json] [--check]

The site has two nodes with 8 GPUs and two pools. The day is synthetic: its hourly rates are those of two services of
the Azure LLM inference trace 2024 on one Tuesday (engine/catalog/scaling.yaml), scaled to the workload of the site.
Service times are those of the sizing model. Nothing is measured on a GPU.

`--check` exits with 1 if a target is missed: sovctl has at most as many SLO violations as the reactive policy, and uses
fewer GPU hours than static replicas.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from sovctl.engine.scaling.simulation.comparison import Outcome, compare, shapes_of, totals
from sovctl.engine.validation.load import LoadedSpec, load

_EXAMPLE = Path(__file__).resolve().parents[1] / "examples/bank-hybrid/site.yaml"
_RESULT = Path("build/bench/scaling.json")
_SITE: dict[str, Any] = {
    "pools": [
        {
            "name": "chat",
            "model": "qwen-8b",
            "node_group": "dgx",
            "replicas": 8,
            "max_model_len": 16384,
            "max_num_seqs": 8,
        },
        {
            "name": "code",
            "model": "qwen-32b",
            "node_group": "dgx",
            "replicas": 4,
            "tensor_parallel_size": 2,
            "max_model_len": 32768,
            "max_num_seqs": 8,
            "port": 8100,
        },
    ],
    "workload": [
        {
            "name": "branches",
            "pool": "chat",
            "users": 600,
            "requests_per_user_hour": 6,
            "input_tokens": 2000,
            "output_tokens": 3000,
            "ttft_p95_ms": 2000,
            "itl_p95_ms": 60,
        },
        {
            "name": "coding",
            "pool": "code",
            "users": 200,
            "requests_per_user_hour": 12,
            "input_tokens": 4000,
            "output_tokens": 2000,
            "ttft_p95_ms": 1500,
            "itl_p95_ms": 60,
        },
    ],
    "scaling": {
        "pools": [
            {"pool": "chat", "minimum_replicas": 2, "maximum_replicas": 10},
            {"pool": "code", "minimum_replicas": 1, "maximum_replicas": 6},
        ],
        "approvers": ["approver+1a2b3c4d+" + "A" * 44],
    },
}


def site_values() -> dict[str, Any]:
    """Return the values of the site: the example with other pools, workload and `scaling`."""
    value: dict[str, Any] = yaml.safe_load(_EXAMPLE.read_text())
    value |= _SITE
    value["sizing"]["autoscaling"]["busy_hours"] = []
    value["gateway"]["routes"] = [{"model": name, "pool": name} for name in ("chat", "code")]
    for client in value["gateway"]["clients"]:
        client.pop("routes", None)
    value.pop("monitoring")
    return value


def site() -> LoadedSpec:
    """Return the validated site."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "site.yaml"
        path.write_text(yaml.safe_dump(site_values()))
        return load(path)


def main() -> int:
    """Run the benchmark; return the exit code."""
    parser = argparse.ArgumentParser(description="Compare autoscaling policies over one day.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    options = parser.parse_args()
    loaded = site()
    found = list(compare(loaded.spec, loaded.catalog, shapes=shapes_of(loaded.spec, {}), seed=options.seed))
    rows = [_row(each) for each in [*found, *totals(found)]]
    document = {"seed": options.seed, "site": _SITE, "rows": rows, "missed": _missed(totals(found))}
    _RESULT.parent.mkdir(parents=True, exist_ok=True)
    _RESULT.write_text(json.dumps(document, indent=2) + "\n")
    if options.json:
        print(json.dumps(document, indent=2))
    else:
        print(f"{'policy':20} {'pool':6} {'requests':>9} {'violations %':>13} {'GPU hours':>10} {'moves':>6}")
        for row in rows:
            print(
                "{policy:20} {pool:6} {requests:9} {violation_percent:13.3f} {gpu_hours:10.1f} {moves:6}".format(**row)
            )
        print("\n".join(f"missed: {each}" for each in document["missed"]) or "all targets are met")
    return 1 if options.check and document["missed"] else 0


def _row(each: Outcome) -> dict[str, Any]:
    return {
        "policy": each.policy,
        "pool": each.pool,
        "requests": each.day.requests,
        "violation_percent": round(each.violation_percent, 3),
        "gpu_hours": round(each.day.gpu_hours, 1),
        "moves": each.day.moves,
    }


def _missed(found: list[Outcome]) -> list[str]:
    days = {each.policy: each.day for each in found}
    missed = []
    for idle in ("stopped", "asleep"):
        own, reactive = days[f"sovctl, {idle}"], days[f"reactive, {idle}"]
        if own.violations > reactive.violations:
            missed.append(f"{idle}: {own.violations} violations, {reactive.violations} by the reactive policy")
        if own.gpu_hours >= days["static"].gpu_hours:
            missed.append(f"{idle}: {own.gpu_hours:.1f} GPU hours, {days['static'].gpu_hours:.1f} static")
    return missed


if __name__ == "__main__":
    sys.exit(main())
