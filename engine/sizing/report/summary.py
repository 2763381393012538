"""Sizing results as plain values for `sovctl size --json`. Units are part of the key names."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..explain.pool import explain
from ..performance.capacity import Interval
from ..pool.autoscaler import bounds_of
from ..pool.caveats import caveats
from ..pool.growth import growth_of
from ..pool.pool import PoolSizing
from ..site.site_sizing import SiteSizing


def summary(sized: PoolSizing) -> dict[str, Any]:
    """Return the result of a pool; keys of unknown values are absent."""
    case, pool = sized.case, sized.case.pool
    found: dict[str, Any] = {
        "pool": pool.name,
        "verdict": sized.verdict.value,
        "reason": sized.reason,
        "provenance": sized.provenance.value,
        "provenance_words": sized.provenance_words,
        "model": case.model.id,
        "gpu": case.gpu.id,
        "platform": case.platform.id,
        "tensor_parallel_size": pool.tensor_parallel_size,
        "pipeline_parallel_size": pool.pipeline_parallel_size,
        "data_parallel_size": pool.data_parallel_size,
        "enable_expert_parallel": pool.enable_expert_parallel,
        "replicas": pool.replicas,
        "gpus": sized.gpus,
        "max_model_len": pool.max_model_len,
        "max_num_seqs": pool.max_num_seqs,
    }
    server = sized.server
    if server is not None:
        memory = server.memory()
        found |= {
            "precision": server.precision.value,
            "gpu_bytes": {
                "usable": round(memory.usable_bytes),
                "weights": round(memory.weights_bytes),
                "overhead": round(memory.overhead_bytes),
                "adapters": round(memory.adapters_bytes),
                "kv_cache": round(server.kv_bytes()),
                "kept_free": round(memory.usable_bytes - memory.budget_bytes),
            },
            "max_concurrency_at_max_model_len": round(server.max_concurrency(pool.max_model_len), 2),
        }
    if sized.limit is not None and case.demand is not None:
        point = sized.limit.point
        found["limit"] = {
            "in_flight": round(point.in_flight, 2),
            "binding": sized.limit.binding.value,
            "is_held": sized.limit.is_held,
            "ttft_s": interval(point.ttft),
            "itl_s": interval(point.itl),
            "output_tokens_per_s": interval(point.tokens_per_s),
        }
        found["slo"] = {"ttft_s": case.demand.ttft_s, "itl_s": case.demand.itl_s, "e2e_s": case.demand.e2e_s}
    if sized.need is not None:
        found["need"] = {
            "in_flight": round(sized.need.in_flight, 2),
            "replicas": sized.need.replicas,
            "replicas_with_reserve": sized.need.with_reserve,
        }
        found["headroom"] = round(sized.headroom or 0.0, 4)
    if sized.point is not None:
        found["at_peak"] = {
            "in_flight": round(sized.point.in_flight, 2),
            "ttft_s": interval(sized.point.ttft),
            "itl_s": interval(sized.point.itl),
            "output_tokens_per_s": interval(sized.point.tokens_per_s),
        }
    found["years"] = [asdict(each) for each in growth_of(sized)]
    found["caveats"] = caveats(sized)
    found["steps"] = [
        {
            "title": step.title,
            "formula": step.formula,
            "inputs": list(step.inputs),
            "result": step.result,
            "instead": step.instead,
        }
        for step in explain(sized)
    ]
    return found


def document(outcome: SiteSizing) -> dict[str, Any]:
    """Return the result of a site: pools, machines, costs and autoscaling."""
    spec, layout, costs, power = outcome.spec, outcome.layout, outcome.costs, outcome.power
    groups = [
        {
            "node_group": each.name,
            "platform": each.platform.id,
            "nodes": each.there,
            "nodes_needed": each.nodes,
            "gpus_needed": each.gpus_needed,
            "node_kw": each.node_kw,
            "nodes_per_rack": each.nodes_per_rack,
            "racks": each.racks,
            "switches": None if each.switches is None else asdict(each.switches),
            "store_bytes": round(each.store_bytes),
            "scalable_units": [{**asdict(share), "units": share.units} for share in each.units],
        }
        for each in layout.groups
    ]
    bounds = [bounds_of(sized, spec.sizing) for sized in outcome.sizings]
    return {
        "site": spec.site.name,
        "pools": [summary(sized) for sized in outcome.sizings],
        "machines": {
            "groups": groups,
            "racks": layout.racks,
            "kw": layout.kw,
            "power_kw": None if power is None else {"busy": interval(power.busy), "idle": interval(power.idle)},
            "problems": list(layout.problems),
        },
        "costs": None
        if costs is None
        else {
            **asdict(costs),
            "own_per_month": costs.own_per_month,
            "own_in_all": costs.own_in_all,
            "break_even_tokens": costs.break_even_tokens,
        },
        "autoscaling": [asdict(each) for each in bounds if each is not None],
    }


def interval(value: Interval) -> dict[str, float]:
    """Return a figure with its band."""
    return {"p10": _short(value.low), "p50": _short(value.middle), "p90": _short(value.high)}


def _short(value: float) -> float:
    return float(f"{value:.4g}")
