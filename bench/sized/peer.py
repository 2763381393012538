"""Runs aiconfigurator, NVIDIA's estimator from measured kernel tables, on the same rows in its own environment.

    said, left_out = estimates(rows)     # {row id: {"throughput": ..., "itl": ..., "ttft": ...}}, seconds and tokens/s

aiconfigurator receives the model, GPU, precision, TP, PP, lengths and engine of a row, and the batch from the row's
concurrency or from sovctl's KV cache arithmetic. Rows that it does not support are excluded for both. Answers are
cached in `build/bench` by version and question; the first run takes 15 minutes of CPU time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from pathlib import Path
from subprocess import PIPE
from tempfile import TemporaryFile
from typing import Any, TextIO

from bench.contenders.environment import Environment
from bench.sized.rows import Row
from sovctl.engine.sizing.memory.weights import Precision
from sovctl.engine.sizing.performance.throughput import Regime

AICONFIGURATOR = Environment("aiconfigurator", ("aiconfigurator==0.12.0",))
_SCRIPT = Path(__file__).with_name("peer_script.py")
_ANSWERS = Path("build/bench") / f"{'-'.join(AICONFIGURATOR.packages)}.jsonl"

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
# For MXFP4 aiconfigurator infers the precision from the checkpoint.
_GEMM = {Precision.BF16: "bfloat16", Precision.FP8: "fp8", Precision.NVFP4: "nvfp4"}
_INFERRED = ("deepseek-r1", "gpt-oss-20b", "gpt-oss-120b", "nemotron-3-nano-30b-a3b")
_LARGEST_BATCH = 512


def estimates(rows: Sequence[Row]) -> tuple[dict[str, dict[str, float]], Counter[str]]:
    """Return aiconfigurator's estimates by row id, and the reasons for excluded rows with their counts.

    Raises:
        RuntimeError: installation or start failed; contains the output.
    """
    asked = [(row, question) for row in rows if (question := question_of(row))]
    left_out = Counter({"unknown model, GPU or engine": len(rows) - len(asked)})
    answer_of = _answers([question for _, question in asked])
    answers: dict[str, dict[str, float]] = {}
    for row, question in asked:
        answer = answer_of[_key(question)]
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


def _answers(questions: Sequence[Mapping[str, Any]]) -> Mapping[str, dict[str, Any]]:
    """Return the answer to every question, from the cache of this version if present."""
    _ANSWERS.parent.mkdir(parents=True, exist_ok=True)
    known = {}
    if _ANSWERS.exists():
        known = {key: answer for line in _ANSWERS.read_text().splitlines() for key, answer in [json.loads(line)]}
    # Group questions by system, so that each process loads few tables.
    missing = {_key(each): each for each in questions if _key(each) not in known}
    if not missing:
        return known
    AICONFIGURATOR.make()
    print(f"asking {AICONFIGURATOR.name} {len(missing)} questions, two seconds of CPU each", file=sys.stderr)
    todo = sorted(missing.values(), key=lambda each: str(each["system_name"]))
    share = max(1, ceil(len(todo) / max(1, os.cpu_count() or 1)))
    parts = [todo[first : first + share] for first in range(0, len(todo), share)]
    with ThreadPoolExecutor(max_workers=max(1, len(parts))) as pool, _ANSWERS.open("a") as file:
        for answered in pool.map(lambda part: _ask(part, file), parts):
            known |= answered
    return known


def _ask(questions: Sequence[Mapping[str, Any]], file: TextIO) -> dict[str, dict[str, Any]]:
    """Run one process; every answer is cached immediately, so that an interrupted run can continue."""
    answers: dict[str, dict[str, Any]] = {}
    command = [str(AICONFIGURATOR.python), str(_SCRIPT)]
    with (
        TemporaryFile("w+") as errors,
        subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(questions))
        process.stdin.close()
        for question, line in zip(questions, process.stdout, strict=False):
            answers[_key(question)] = json.loads(line)
            file.write(json.dumps([_key(question), answers[_key(question)]]) + "\n")
            file.flush()
        if process.wait():
            errors.seek(0)
            raise RuntimeError(f"aiconfigurator ended with {process.returncode}:\n{errors.read()[-2000:]}")
    return answers


def _key(question: Mapping[str, Any]) -> str:
    return json.dumps(question, sort_keys=True)


def question_of(row: Row) -> Mapping[str, Any] | None:
    """Return the arguments of `cli_estimate` for a row; None if it is not supported."""
    model, system = _MODELS.get(row.model), _SYSTEMS.get(row.gpu)
    replica = row.replica
    if model is None or system is None or row.made_by.startswith("rocm"):
        return None
    clients = (row.clients or 0) / (row.replicas if row.regime is not Regime.STATIC else 1)
    batch = clients if clients and row.regime is not Regime.OFFLINE else _LARGEST_BATCH
    batch = max(1, round(min(batch, row.kv_max_concurrency) if row.regime is not Regime.STATIC else batch))
    question: dict[str, Any] = {
        "model_path": model,
        "system_name": system,
        "backend_name": row.made_by if row.made_by in ("vllm", "sglang") else "trtllm",
        "mode": "static" if row.regime is Regime.STATIC else "agg",
        "isl": round(row.input_tokens),
        "osl": max(2, round(row.output_tokens)),
        "batch_size": batch,
        "pp_size": replica.pipeline_parallel_size,
        "kvcache_quant_mode": "fp8" if replica.kv_cache_dtype_bytes < 2 else "bfloat16",
    }
    ranks = replica.gpus_per_stage
    if replica.data_parallel_size > 1:
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
