"""aiconfigurator beside us on the same rows: NVIDIA's estimator, from measured kernel tables, in its own environment.

    said, left_out = estimates(rows)     # {row id: {"throughput": ..., "itl": ..., "ttft": ...}}, seconds and tokens/s

It gets what a row says (model, GPU, precision, TP, PP, lengths, engine) and the batch that the row's concurrency or our
KV arithmetic gives. Rows whose model or GPU it does not know, or that it finds not to fit, are left out of both.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from pathlib import Path
from typing import Any

from bench.contenders.environment import Environment
from bench.sized.rows import Row
from sovctl.engine.sizing.replica import ExpertMode
from sovctl.engine.sizing.serving import Regime
from sovctl.engine.sizing.weights import Precision

AICONFIGURATOR = Environment("aiconfigurator", ("aiconfigurator==0.12.0",))
_SCRIPT = Path(__file__).with_name("peer_script.py")
_TIMEOUT_S = 3600

_MODELS = {
    "llama-3-8b": "meta-llama/Meta-Llama-3.1-8B",
    "llama-3.1-8b": "meta-llama/Meta-Llama-3.1-8B",
    "llama-3-70b": "meta-llama/Meta-Llama-3.1-70B",
    "llama-3.1-70b": "meta-llama/Meta-Llama-3.1-70B",
    "llama-3.3-70b": "meta-llama/Meta-Llama-3.1-70B",
    "llama-3.1-405b": "meta-llama/Meta-Llama-3.1-405B",
    "llama-4-scout": "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    "llama-4-maverick": "meta-llama/Llama-4-Maverick-17B-128E-Instruct",
    "qwen3-235b-a22b": "Qwen/Qwen3-235B-A22B",
    "qwen3-30b-a3b": "Qwen/Qwen3-30B-A3B",
    "deepseek-r1": "deepseek-ai/DeepSeek-R1",
    "gpt-oss-20b": "openai/gpt-oss-20b",
    "gpt-oss-120b": "openai/gpt-oss-120b",
    "nemotron-3-nano-30b-a3b": "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
    "mixtral-8x7b": "mistralai/Mixtral-8x7B-v0.1",
}
_SYSTEMS = {
    "A100-80": "a100_sxm",
    "A100-80-PCIe": "a100_pcie",
    "H100": "h100_sxm",
    "H100-PCIe": "h100_pcie",
    "H200": "h200_sxm",
    "B200": "b200_sxm",
    "B300": "b300_sxm",
    "GB200": "gb200",
    "GB300": "gb300",
    "L40S": "l40s",
    "RTX-PRO-6000": "rtx_pro_6000_server",
}
# MXFP4 is left to what it infers from the checkpoint.
_GEMM = {Precision.BF16: "bfloat16", Precision.FP8: "fp8", Precision.NVFP4: "nvfp4"}
_INFERRED = ("deepseek-r1", "gpt-oss-20b", "gpt-oss-120b", "nemotron-3-nano-30b-a3b")
_LARGEST_BATCH = 512


def estimates(rows: Sequence[Row]) -> tuple[dict[str, dict[str, float]], Counter[str]]:
    """What aiconfigurator says of the rows it can run, and why it can't run the others.

    Raises:
        RuntimeError: it could not be installed or started; with what was said.
    """
    AICONFIGURATOR.make()
    # Rows of one system together: each process then loads few of its tables.
    asked = sorted(((row, q) for row in rows if (q := question_of(row))), key=lambda each: each[1]["system_name"])
    left_out = Counter({"model, GPU or engine that it does not know": len(rows) - len(asked)})
    share = max(1, ceil(len(asked) / max(1, os.cpu_count() or 1)))
    parts = [[question for _, question in asked[first : first + share]] for first in range(0, len(asked), share)]
    with ThreadPoolExecutor(max_workers=max(1, len(parts))) as pool:
        said_of = [answer for part in pool.map(_ask, parts) for answer in part]
    answers: dict[str, dict[str, float]] = {}
    for (row, _), answer in zip(asked, said_of, strict=True):
        if "error" in answer:
            left_out[answer["error"]] += 1
            continue
        whole = row.replicas if row.regime is not Regime.STATIC else 1
        said = {
            "throughput": answer["tokens_per_s"] * whole,
            "itl": answer["tpot_ms"] * 1e-3,
            "ttft": answer["ttft_ms"] * 1e-3,
        }
        answers[row.id] = {name: said[name] for name in row.measured if said[name] > 0}
    return answers, left_out


def _ask(questions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [str(AICONFIGURATOR.python), str(_SCRIPT)],
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"aiconfigurator ended with {done.returncode}:\n{done.stderr[-2000:]}")
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


def question_of(row: Row) -> Mapping[str, Any] | None:
    """A row as its `cli_estimate` takes it; None where it has no such thing."""
    model, system = _MODELS.get(row.model), _SYSTEMS.get(row.gpu)
    replica = row.replica
    if model is None or system is None or row.made_by.startswith("rocm"):
        return None
    clients = (row.clients or 0) / (row.replicas if row.regime is not Regime.STATIC else 1)
    batch = clients if clients and row.regime is not Regime.OFFLINE else _LARGEST_BATCH
    batch = max(1, round(min(batch, row.kv_sessions) if row.regime is not Regime.STATIC else batch))
    question: dict[str, Any] = {
        "model_path": model,
        "system_name": system,
        "backend_name": row.made_by if row.made_by in ("vllm", "sglang") else "trtllm",
        "mode": "static" if row.regime is Regime.STATIC else "agg",
        "isl": round(row.prompt),
        "osl": max(2, round(row.answer)),
        "batch_size": batch,
        "pp_size": replica.pipeline_parallel_size,
        "kvcache_quant_mode": "fp8" if replica.kv_element_bytes < 2 else "bfloat16",
    }
    ranks = replica.tensor_parallel_size
    if replica.expert_mode is ExpertMode.EXPERT:
        question |= {"attention_dp_size": ranks, "moe_ep_size": ranks, "moe_tp_size": 1}
        question["batch_size"] = max(1, batch // ranks)
    else:
        question["tp_size"] = ranks
        if replica.shape.expert_parameters:
            question |= {"moe_tp_size": ranks, "moe_ep_size": 1}
    if row.model not in _INFERRED:
        question["gemm_quant_mode"] = _GEMM[replica.precision]
        if replica.shape.expert_parameters:
            question["moe_quant_mode"] = _GEMM[replica.precision]
    return question
