"""How to spread a model over GPUs: tensor and pipeline parallelism of one replica, and why.

Every way is looked at: what cannot start says why, what can gets the throughput per GPU that the model gives it, the
GPUs that a node would leave idle counted as lost. Of the ways that leave the cache room, the best wins; of those as
good as the best, the smallest.

    ways = ways_of(model, gpu, precision=Precision.FP8, gpus=8, objective=Objective(prompt=2000, answer=500))
    best(ways).tensor_parallel_size
    [way.refused for way in ways if way.refused]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...catalog.gpus import Gpu
from ...catalog.models import ModelEntry
from ..memory.gpu_memory import DEFAULT_UTILIZATION, RankMemory, rank_memory
from ..memory.weights import Precision, Weights
from ..performance.calibration import load_calibration
from ..performance.engines import VLLM, Engine
from ..performance.replica_model import ExpertMode, Replica
from ..performance.step_time import Steps
from ..performance.throughput import Estimate, Serving

# Share of a GPU's budget that weights may take before a wider replica is looked for. Submitters of MLPerf v5.1 stay
# below it wherever a wider replica wastes no GPU: 405B FP8 on 8 H200 not at 81 % but at 40, 405B FP4 on B200 not at
# 66 % but at 33, and 70B FP8 on one H200 at 58 (configurations read 2026-11-20).
_WEIGHTS_AT_MOST = 0.6
_AS_GOOD_AS = 0.9  # of the best throughput per GPU: within the model's own error
_SIZES = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class Objective:
    """What a replica is to do."""

    prompt: float
    """Tokens, on average."""
    answer: float
    itl_s: float | None = None
    """Longest time between tokens; None to go for throughput alone."""
    max_num_seqs: int = 512


@dataclass(frozen=True, slots=True)
class Way:
    """One way to spread the model."""

    tensor_parallel_size: int
    """GPUs of a stage; with `ExpertMode.EXPERT` each has attention of its own, vLLM's data parallelism."""
    pipeline_parallel_size: int
    expert_mode: ExpertMode
    refused: str = ""
    """Why it cannot start, or cannot do what was asked; empty when it can."""
    estimate: Estimate | None = None
    """Of one replica."""
    weights_share: float = 0.0
    """Of a GPU's budget."""
    worth: float = 0.0
    """Output tokens per second and GPU, idle GPUs of the node counted."""

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.tensor_parallel_size * self.pipeline_parallel_size

    @property
    def has_room(self) -> bool:
        """True when weights leave the cache its share."""
        return self.weights_share <= _WEIGHTS_AT_MOST


def startable(
    model: ModelEntry,
    gpu: Gpu,
    *,
    precision: Precision,
    gpus: int,
    vllm: str,
    link_domain: int = 8,
    gpu_memory_utilization: float = DEFAULT_UTILIZATION,
    adapters: int = 0,
    adapter_rank: int = 16,
    has_whole_experts: bool = False,
) -> Iterator[tuple[Way, RankMemory | None]]:
    """Every way to spread `model` over at most `gpus` GPUs by its shape and its weights alone, with the memory of the
    fullest GPU; refused ones with their reason, and without memory where the shape refuses them.

    Args:
        gpus: of one node or rack, all equal.
        link_domain: GPUs that talk over fast links; tensor parallelism stays inside.
        adapters: LoRA adapters that there is room for at once.
        has_whole_experts: with expert parallelism in ways of tensor parallelism too.
    """
    weights = Weights.of(model, precision)
    for tensor, pipeline, mode in _sizes(model, gpus):
        is_apart = mode is ExpertMode.EXPERT
        whole = is_apart or (has_whole_experts and model.arch.moe is not None)
        refused = _refusal(model, precision, tensor, pipeline, mode, link_domain, has_whole_experts=whole)
        if refused:
            yield Way(tensor, pipeline, mode, refused), None
            continue
        memory = rank_memory(
            gpu,
            weights,
            vllm=vllm,
            tensor_parallel_size=1 if is_apart else tensor,
            pipeline_parallel_size=pipeline,
            data_parallel_size=tensor if is_apart else 1,
            has_whole_experts=whole,
            gpu_memory_utilization=gpu_memory_utilization,
            adapters=adapters,
            adapter_rank=adapter_rank,
        )
        share = memory.weights_bytes / memory.budget_bytes
        yield Way(tensor, pipeline, mode, "" if memory.fits else "weights do not fit", weights_share=share), memory


def ways_of(
    model: ModelEntry,
    gpu: Gpu,
    *,
    precision: Precision,
    gpus: int,
    objective: Objective,
    vllm: str,
    link_domain: int = 8,
    kv_element_bytes: float = 2,
    engine: Engine = VLLM,
) -> list[Way]:
    """The same, each with what it delivers within an objective.

    Args:
        engine: whose times; what can start is always vLLM's to say.

    Raises:
        InputError: the catalogue does not know enough of the model's shape.
    """
    ways = []
    for way, memory in startable(model, gpu, precision=precision, gpus=gpus, vllm=vllm, link_domain=link_domain):
        if way.refused or memory is None:
            ways.append(way)
            continue
        replica = Replica.of(
            model,
            gpu,
            precision=precision,
            kv_element_bytes=kv_element_bytes,
            tensor_parallel_size=way.tensor_parallel_size,
            pipeline_parallel_size=way.pipeline_parallel_size,
            expert_mode=way.expert_mode,
        )
        sessions = _sessions(replica, memory.kv_bytes, objective)
        if sessions < 1:
            asked = objective.prompt + objective.answer
            ways.append(replace(way, refused=f"no room for one session of {asked:.0f} tokens"))
            continue
        estimate = _best_estimate(Steps(replica, load_calibration().constant, engine), sessions, objective)
        if estimate is None:
            assert objective.itl_s is not None
            why = f"slower than {objective.itl_s * 1e3:.0f} ms between tokens, even for one request"
            ways.append(replace(way, refused=why))
            continue
        used = gpus // way.gpus * way.gpus / gpus
        ways.append(replace(way, estimate=estimate, worth=estimate.output_tokens_per_s / way.gpus * used))
    return ways


def best(ways: Sequence[Way]) -> Way | None:
    """The way to take; None when none can start."""
    possible = [way for way in ways if not way.refused]
    roomy = [way for way in possible if way.has_room] or possible
    if not roomy:
        return None
    most = max(way.worth for way in roomy)
    return min(
        (way for way in roomy if way.worth >= _AS_GOOD_AS * most),
        key=lambda way: (way.gpus, way.pipeline_parallel_size, -way.worth),
    )


def _sizes(model: ModelEntry, gpus: int) -> Iterator[tuple[int, int, ExpertMode]]:
    modes = (ExpertMode.TENSOR, ExpertMode.EXPERT) if model.arch.moe is not None else (ExpertMode.TENSOR,)
    for tensor in _SIZES:
        for pipeline in _SIZES:
            if tensor * pipeline <= gpus:
                for mode in modes if tensor > 1 else modes[:1]:
                    yield tensor, pipeline, mode


def _refusal(
    model: ModelEntry,
    precision: Precision,
    tensor: int,
    pipeline: int,
    mode: ExpertMode,
    link_domain: int,
    *,
    has_whole_experts: bool,
) -> str:
    """Why vLLM would not start so; empty when it would. The rules of `spec.rules.pools`, for figures of our own."""
    arch, moe = model.arch, model.arch.moe
    if tensor > link_domain:
        return f"{tensor} GPUs are more than the {link_domain} that fast links join"
    if arch.layers is not None and pipeline > arch.layers:
        return f"{arch.layers} layers are fewer than {pipeline} stages"
    if mode is ExpertMode.TENSOR and arch.heads is not None and arch.heads % tensor:
        return f"{arch.heads} attention heads can't be divided by {tensor}"
    kv_heads = None if model.has_latent_attention else arch.kv_heads
    if mode is ExpertMode.TENSOR and kv_heads is not None and kv_heads % tensor and tensor % kv_heads:
        return f"{kv_heads} key-value heads can be neither divided by {tensor} nor repeated to it"
    is_block_fp8 = moe is not None and moe.fp8_block and precision is Precision.FP8
    if moe is not None and is_block_fp8 and not has_whole_experts and moe.ffn % (tensor * (moe.fp8_block or 1)):
        return (
            f"experts of {moe.ffn} / {tensor} are no whole FP8 blocks of {moe.fp8_block}; expert parallelism would do"
        )
    if moe is not None and has_whole_experts and moe.experts % tensor:
        return f"{moe.experts} experts can't be divided by {tensor}"
    return ""


def _sessions(replica: Replica, kv_bytes: float, objective: Objective) -> float:
    """Sessions of the objective that fit into all GPUs of a replica."""
    context = objective.prompt + objective.answer
    on_a_rank = replica.context_bytes(context) / replica.pipeline_parallel_size
    each = replica.tensor_parallel_size if replica.expert_mode is ExpertMode.EXPERT else 1
    return max(0.0, kv_bytes) / on_a_rank * each


def _best_estimate(steps: Steps, sessions: float, objective: Objective) -> Estimate | None:
    """The most that a replica delivers within the objective; None when it can't keep to it."""
    replica = steps.replica
    most = objective.max_num_seqs * (replica.tensor_parallel_size if replica.expert_mode is ExpertMode.EXPERT else 1)
    serving = Serving(steps, sessions, most)
    if objective.itl_s is None:
        return serving.offline(objective.prompt, objective.answer)
    found, clients = None, 1.0
    while clients <= min(sessions, most):
        estimate = serving.closed(clients, objective.prompt, objective.answer)
        if estimate.itl_s > objective.itl_s:
            break
        found, clients = estimate, clients * 1.25
    return found
