"""Parallel layouts of one replica: tensor, pipeline and data parallel sizes for a model on a number of GPUs. Pure.

Every layout is evaluated. A layout that cannot start has a reason; every other layout has its throughput per GPU, where
GPUs that a node leaves idle count as lost. `best` prefers layouts that leave enough memory for the KV cache, then
throughput, then fewer GPUs.

    layouts = parallel_layouts(
        model, gpu, precision=Precision.FP8, gpus=8, objective=Objective(2000, 500), engine_version="0.32.0"
    )
    best(layouts).tensor_parallel_size
    [layout.refused for layout in layouts if layout.refused]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...catalog.gpus import Gpu
from ...catalog.models import ModelEntry
from ..memory.gpu_memory import DEFAULT_UTILIZATION, RankMemory, rank_memory
from ..memory.weights import Precision, Weights
from ..performance.admission import held_tokens
from ..performance.calibration import load_calibration
from ..performance.engines import VLLM, Engine
from ..performance.replica_model import ReplicaModel
from ..performance.step_time import Steps
from ..performance.throughput import Estimate, Serving

# Largest fraction of a GPU's memory budget for weights; `best` prefers layouts below it. In MLPerf v5.1, submitters
# stay below it if a wider replica wastes no GPU: 405B FP8 on 8 H200 uses 40 % instead of 81 %, 405B FP4 on B200 uses
# 33 % instead of 66 %, and 70B FP8 on one H200 uses 58 % (configurations read 2026-11-20).
_MAX_WEIGHTS_SHARE = 0.6
_THROUGHPUT_TOLERANCE = 0.9  # of the best throughput per GPU: within the error of the model
_SIZES = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class Objective:
    """Load and latency limit of a replica."""

    input_tokens: float
    """Mean tokens of a prompt."""
    output_tokens: float
    """Mean tokens of an answer."""
    itl_s: float | None = None
    """Maximum time between tokens; None: maximize throughput only."""
    max_num_seqs: int = 512


@dataclass(frozen=True, slots=True)
class ParallelLayout:
    """Parallel sizes of one replica, as vLLM names them."""

    tensor_parallel_size: int
    pipeline_parallel_size: int
    data_parallel_size: int
    """Ranks with their own attention and KV cache, which share the experts; 1 without data parallelism."""
    enable_expert_parallel: bool = False
    refused: str = ""
    """Why vLLM would not start, or why the objective is not met; empty if neither."""
    estimate: Estimate | None = None
    """Performance estimate of one replica; None if refused."""
    weights_share: float = 0.0
    """Fraction of a GPU's memory budget, 0 to 1."""
    worth: float = 0.0
    """Output tokens/s per GPU; idle GPUs of the node included."""

    @property
    def gpus_per_stage(self) -> int:
        """GPUs of one pipeline stage."""
        return self.tensor_parallel_size * self.data_parallel_size

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.gpus_per_stage * self.pipeline_parallel_size

    @property
    def has_room(self) -> bool:
        """Whether the weights leave enough memory for the KV cache."""
        return self.weights_share <= _MAX_WEIGHTS_SHARE


def layouts_that_fit(
    model: ModelEntry,
    gpu: Gpu,
    *,
    precision: Precision,
    gpus: int,
    engine_version: str,
    link_domain: int = 8,
    gpu_memory_utilization: float = DEFAULT_UTILIZATION,
    adapters: int = 0,
    adapter_rank: int = 16,
    enable_expert_parallel: bool = False,
) -> Iterator[tuple[ParallelLayout, RankMemory | None]]:
    """Yield every layout of `model` on at most `gpus` GPUs, with the memory of the fullest GPU.

    Layouts that vLLM refuses have a reason in `refused`; the memory is None if the model's shape is the reason.

    Args:
        gpus: identical GPUs of one node or rack.
        link_domain: GPUs connected by fast links; a stage does not exceed it.
        adapters: LoRA adapters loaded at the same time.
        enable_expert_parallel: also for layouts with tensor parallelism.
    """
    weights = Weights.of(model, precision)
    for tensor, pipeline, data in _sizes(model, gpus):
        has_experts = data > 1 or (enable_expert_parallel and model.arch.moe is not None)
        layout = ParallelLayout(tensor, pipeline, data, has_experts)
        refused = _refusal(model, precision, layout, link_domain)
        if refused:
            yield replace(layout, refused=refused), None
            continue
        memory = rank_memory(
            gpu,
            weights,
            engine_version=engine_version,
            tensor_parallel_size=tensor,
            pipeline_parallel_size=pipeline,
            data_parallel_size=data,
            enable_expert_parallel=has_experts,
            gpu_memory_utilization=gpu_memory_utilization,
            adapters=adapters,
            adapter_rank=adapter_rank,
        )
        share = memory.weights_bytes / memory.budget_bytes
        yield replace(layout, refused="" if memory.fits else "weights do not fit", weights_share=share), memory


def parallel_layouts(
    model: ModelEntry,
    gpu: Gpu,
    *,
    precision: Precision,
    gpus: int,
    objective: Objective,
    engine_version: str,
    link_domain: int = 8,
    kv_cache_dtype_bytes: float = 2,
    engine: Engine = VLLM,
) -> list[ParallelLayout]:
    """Return every layout with its estimate under an objective.

    Args:
        engine: the engine whose times are estimated; vLLM's rules decide which layouts can start.

    Raises:
        InputError: the catalogue lacks a figure of the model's shape.
    """
    found = []
    fitting = layouts_that_fit(
        model, gpu, precision=precision, gpus=gpus, engine_version=engine_version, link_domain=link_domain
    )
    for layout, memory in fitting:
        if layout.refused or memory is None:
            found.append(layout)
            continue
        replica = ReplicaModel.of(
            model,
            gpu,
            precision=precision,
            kv_cache_dtype_bytes=kv_cache_dtype_bytes,
            tensor_parallel_size=layout.tensor_parallel_size,
            pipeline_parallel_size=layout.pipeline_parallel_size,
            data_parallel_size=layout.data_parallel_size,
        )
        sequences = _max_concurrency(replica, memory.kv_bytes, objective, engine)
        if sequences < 1:
            asked = objective.input_tokens + objective.output_tokens
            found.append(replace(layout, refused=f"no room for one session of {asked:.0f} tokens"))
            continue
        estimate = _best_estimate(Steps(replica, load_calibration().constant, engine), sequences, objective)
        if estimate is None:
            assert objective.itl_s is not None
            why = f"slower than {objective.itl_s * 1e3:.0f} ms between tokens, even for one request"
            found.append(replace(layout, refused=why))
            continue
        used = gpus // layout.gpus * layout.gpus / gpus
        found.append(replace(layout, estimate=estimate, worth=estimate.output_tokens_per_s / layout.gpus * used))
    return found


def best(layouts: Sequence[ParallelLayout]) -> ParallelLayout | None:
    """Return the preferred layout; None if none can start."""
    possible = [layout for layout in layouts if not layout.refused]
    roomy = [layout for layout in possible if layout.has_room] or possible
    if not roomy:
        return None
    most = max(layout.worth for layout in roomy)
    return min(
        (layout for layout in roomy if layout.worth >= _THROUGHPUT_TOLERANCE * most),
        key=lambda layout: (layout.gpus, layout.pipeline_parallel_size, -layout.worth),
    )


def _sizes(model: ModelEntry, gpus: int) -> Iterator[tuple[int, int, int]]:
    """Yield tensor, pipeline and data parallel sizes; data parallelism only for a mixture of experts."""
    for stage in _SIZES:
        for pipeline in _SIZES:
            if stage * pipeline <= gpus:
                yield stage, pipeline, 1
                if model.arch.moe is not None and stage > 1:
                    yield 1, pipeline, stage


def _refusal(model: ModelEntry, precision: Precision, layout: ParallelLayout, link_domain: int) -> str:
    """Return why vLLM would not start this layout; empty if it would. Same rules as `validation.rules.pools`."""
    arch, moe = model.arch, model.arch.moe
    tensor, pipeline, gpus = layout.tensor_parallel_size, layout.pipeline_parallel_size, layout.gpus_per_stage
    if gpus > link_domain:
        return f"{gpus} GPUs exceed the {link_domain} GPUs connected by fast links"
    if arch.layers is not None and pipeline > arch.layers:
        return f"{pipeline} stages exceed {arch.layers} layers"
    if arch.heads is not None and arch.heads % tensor:
        return f"{arch.heads} attention heads are not divisible by {tensor}"
    kv_heads = None if model.has_latent_attention else arch.kv_heads
    if kv_heads is not None and kv_heads % tensor and tensor % kv_heads:
        return f"{kv_heads} key-value heads are neither divisible by {tensor} nor a divisor of it"
    if moe is None:
        return ""
    block = moe.fp8_block or 1
    is_block_fp8 = bool(moe.fp8_block) and precision is Precision.FP8
    if is_block_fp8 and not layout.enable_expert_parallel and moe.ffn % (tensor * block):
        return f"experts of {moe.ffn} / {tensor} are not whole FP8 blocks of {block}; expert parallelism avoids this"
    if layout.enable_expert_parallel and moe.experts % gpus:
        return f"{moe.experts} experts are not divisible by {gpus}"
    return ""


def _max_concurrency(replica: ReplicaModel, kv_bytes: float, objective: Objective, engine: Engine) -> float:
    """Return the running sessions of the objective's length that fit into the KV cache of a replica."""
    context = held_tokens(objective.input_tokens, objective.output_tokens, reserves_answer=engine.reserves_answer)
    rank_bytes = replica.context_bytes(context) / replica.pipeline_parallel_size
    return max(0.0, kv_bytes) / rank_bytes * replica.data_parallel_size


def _best_estimate(steps: Steps, sequences: float, objective: Objective) -> Estimate | None:
    """Return the highest throughput of a replica within the objective; None if one request misses it."""
    most = objective.max_num_seqs * steps.replica.data_parallel_size
    serving = Serving(steps, sequences, most)
    if objective.itl_s is None:
        return serving.offline(objective.input_tokens, objective.output_tokens)
    found, clients = None, 1.0
    while clients <= min(sequences, most):
        estimate = serving.closed(clients, objective.input_tokens, objective.output_tokens)
        if estimate.itl_s > objective.itl_s:
            break
        found, clients = estimate, clients * 1.25
    return found
