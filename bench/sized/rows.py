"""Published measurements as rows for which the sizing model can compute an estimate.

rows, unknown = read_rows(Path("validation_public.csv"))
estimate = rows[0].estimate(load_calibration().constant)
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from bench.sized.limits import ANSWER_TOKENS, ITL_LIMITS_S
from sovctl.engine.catalog.gpus import Gpu, load_gpus
from sovctl.engine.catalog.models import load_models
from sovctl.engine.sizing.memory.gpu_memory import usable_bytes
from sovctl.engine.sizing.memory.kv_cache import AttentionSpan, KvCache, LayerGroup
from sovctl.engine.sizing.memory.weights import Precision
from sovctl.engine.sizing.performance.admission import held_tokens
from sovctl.engine.sizing.performance.engines import TENSORRT, VLLM, Engine
from sovctl.engine.sizing.performance.replica_model import ReplicaModel, Shape, generation_of
from sovctl.engine.sizing.performance.step_time import Steps
from sovctl.engine.sizing.performance.throughput import Estimate, Regime, Serving
from sovctl.support.errors import InputError

# Name of a GPU in the measurements: id in the catalogue.
_GPUS = {
    "A100-40": "A100-40GB-SXM",
    "A100-80": "A100-80GB-SXM",
    "A100-80-PCIe": "A100-80GB-PCIe",
    "H100": "H100-80GB-SXM",
    "H100-PCIe": "H100-80GB-PCIe",
    "H100-NVL": "H100-94GB-NVL",
    "GH200-96": "GH200-96",
    "H200": "H200-141GB-SXM",
    "H200-NVL": "H200-141GB-NVL",
    "H20": "H20-96GB-SXM",
    "B200": "B200-SXM",
    "B300": "B300-SXM",
    "GB200": "GB200-NVL72-GPU",
    "GB300": "GB300-NVL72-GPU",
    "RTX-PRO-6000": "RTX-PRO-6000-Blackwell-Server",
    "MI350X": "MI355X",  # the same chip with less power; its clocks are not published
}
_PRECISIONS = {"bf16": "bf16", "fp16": "bf16", "fp8": "fp8", "int8": "int8", "int4": "int4", "fp4": "nvfp4"}
# Corrections of inferred precisions by the submitters' configurations in validation_parallelism.csv.
_SUBMITTED = {("mixtral-8x7b", "RTX-PRO-6000"): Precision.FP8}
_KV_BYTES = {"fp8": 1.0, "nvfp4": 0.5625}  # others: 16 bits
_REGIMES = {
    "static_batch": Regime.STATIC,
    "closed_loop": Regime.CLOSED,
    "offline_max": Regime.OFFLINE,
    "mlperf_offline": Regime.OFFLINE,
    "mlperf_server": Regime.OPEN,
    "mlperf_interactive": Regime.OPEN,
}
_UTILIZATION = 0.9
_OVERHEAD_BYTES = 2.5e9  # mean of vLLM's logs, 2.31 to 2.67 GiB: overheads.yaml
_TENSORRT_2024 = Engine("TensorRT-LLM 0.9", "engine_2024", "layer_2024_us")
_NIM = Engine("NIM 1.0", "engine_nim", "layer_2024_us", "server_2024_us")
MLPERF = Engine("MLPerf", "engine_mlperf", per_sequence="server_us")
# AMD's submissions schedule 11 steps together (`num_scheduler_steps`; closed/AMD, llama2-70b, configuration of v5.1,
# read 2026-11-22): a request waits for half of them and the next step.
_MLPERF_AMD = replace(MLPERF, name="MLPerf, AMD", steps_before=11 / 2 + 1, reserves_answer=False)
# NVIDIA's harness collects prompts for 10 steps with data parallel attention (`adp_balancing_batching_wait_iters`, read
# 2026-11-22), which it uses for latent attention. Offline rows are computed with data parallelism. These rows use the
# step times of the TP in the file, because with data parallelism the model computes 1.5 times the measured throughput.
_MLPERF_LATENT = replace(MLPERF, name="MLPerf, latent", steps_before=10 + 1.5)
# Clients that request answers of one length form convoys. InferenceX uses random lengths and publishes their mean.
_LENGTH_STEP = 128
_OWN = Path(__file__).parent / "h100.csv"  # vLLM 0.26.0 on one H100; alternate rows have the flag `unseen`
_SGLANG = replace(VLLM, name="SGLang", launch_experts="launch_experts_sglang_us")
_MLPERF_OFFLINE = Engine("MLPerf", "engine_mlperf")
_ANSWER_TOKENS = 200.0  # default; a guess that no row of the public file needs
_BISECTIONS = 12  # of an interval of at most a few thousand requests: exact to one request
_NODE = 8  # GPUs that share the experts of a latent model in submissions that publish it
_WEIGHTS_SHARE = 0.8  # of the budget for weights, if a row does not contain the GPUs of a replica
# Invalid rows: fake weights activate one expert only; outliers are marked in the data set.
_EXCLUDED = ("moe_fake_weights", "source_outlier")


@dataclass(frozen=True)
class Row:
    """One measurement."""

    id: str
    kind: str
    regime: Regime
    model: str
    gpu: str
    replica: ReplicaModel
    replicas: int
    engine: Engine
    made_by: str
    """Name of the engine in the measurement; empty if unknown."""
    input_tokens: float
    output_tokens: float
    clients: float | None
    kv_max_concurrency: float
    itl_limit_s: float | None
    """Limit of the 99th percentile in the scenario, in seconds; None without a limit."""
    measured: Mapping[str, float]
    """`throughput` in tokens/s of all GPUs, `itl` and `ttft` in seconds; only measured quantities."""

    def estimate(self, constant: Callable[[str], float]) -> Estimate:
        """Return the model's estimate of one replica."""
        steps = Steps(self.replica, constant, self.engine)
        most = constant("max_batch") * (2 if self.kind == "mlperf_offline" else 1)
        most *= self.replica.gpus_per_stage
        serving = Serving(steps, self.kv_max_concurrency, most)
        if self.regime is Regime.STATIC:
            return serving.static(self.clients or 1.0, self.input_tokens, self.output_tokens)
        if self.regime is Regime.CLOSED:
            return serving.closed((self.clients or 1.0) / self.replicas, self.input_tokens, self.output_tokens)
        if self.regime is Regime.OPEN and self.clients:
            return serving.open(self.clients / self.replicas, self.input_tokens, self.output_tokens)
        if self.itl_limit_s is not None:
            return self._within(serving, self.itl_limit_s * constant("limit_share"))
        return serving.offline(self.input_tokens, self.output_tokens)

    def _within(self, serving: Serving, itl_s: float) -> Estimate:
        """Return the maximum under open arrivals within a mean time between tokens, at most the offline maximum."""
        most = serving.offline(self.input_tokens, self.output_tokens)
        low, high = 1.0, most.batch
        if serving.open(high, self.input_tokens, self.output_tokens).itl_s <= itl_s:
            return most
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            keeps = serving.open(middle, self.input_tokens, self.output_tokens).itl_s <= itl_s
            low, high = (middle, high) if keeps else (low, middle)
        return serving.open(low, self.input_tokens, self.output_tokens)

    def computed(self, constant: Callable[[str], float]) -> dict[str, float]:
        """Return the computed values of the measured quantities."""
        estimate = self.estimate(constant)
        whole = {"throughput": estimate.output_tokens_per_s * self._whole, "itl": estimate.itl_s}
        if estimate.ttft_s is not None:
            whole["ttft"] = estimate.ttft_s
        return {name: value for name, value in whole.items() if name in self.measured}

    @property
    def model_id(self) -> str:
        """Id of the catalogue's model with this shape, or the name in the measurement."""
        return str(_others().get(self.model, {}).get("like", self.model))

    @property
    def _whole(self) -> int:
        return self.replicas if self.regime is not Regime.STATIC else 1


def own_rows(*, is_seen: bool) -> list[Row]:
    """Return the rows of `h100.csv` that the fit includes, or the rows with the flag `unseen`."""
    return read_rows(_OWN, lambda line: ("unseen" not in line["flags"]) is is_seen)[0]


def read_rows(
    path: Path, is_wanted: Callable[[Mapping[str, str]], bool] = lambda _: True
) -> tuple[list[Row], Counter[str]]:
    """Return the rows of a file, and the number of excluded rows by unknown model or GPU.

    Args:
        is_wanted: rows for which it returns False are ignored.
    """
    rows: list[Row] = []
    unknown: Counter[str] = Counter()
    with path.open(newline="") as file:
        for line in filter(is_wanted, csv.DictReader(file)):
            if any(word in line["flags"] for word in _EXCLUDED):
                unknown[f"excluded: {line['flags']}"] += 1
                continue
            shape, gpu = _shape(line["model"]), gpu_named(line["gpu"])
            if shape is None or gpu is None or not line["isl"]:
                unknown[f"{line['model']} on {line['gpu']}"] += 1
                continue
            rows.append(_row(line, shape, gpu))
    return rows, unknown


def _row(line: Mapping[str, str], shape: Shape, gpu: Gpu) -> Row:
    def number(name: str) -> float | None:
        return float(line[name]) if line[name] else None

    gpus, input_tokens = int(float(line["n_gpus"])), number("isl")
    output_tokens = number("osl") or ANSWER_TOKENS.get(line["model"], _ANSWER_TOKENS)
    assert input_tokens is not None
    precision = Precision(_PRECISIONS.get(line["w_prec"], line["w_prec"]))
    if "precision inferred" in line["note"]:
        precision = _SUBMITTED.get((line["model"], line["gpu"]), precision)
    is_latent_offline = line["kind"] == "mlperf_offline" and shape.latent_width > 0  # data parallel: _MLPERF_LATENT
    is_data_parallel = line["ep_mode"] == "DEP" or is_latent_offline
    ranks = int(number("tp") or 0) or 1
    dense = 2.0 if precision is Precision.MXFP4 and shape.expert_parameters else precision.bytes_per_weight
    replica = ReplicaModel(
        shape,
        gpu,
        generation_of(gpu),
        precision,
        dense,
        _KV_BYTES.get(line["kv_prec"], 2.0),
        1 if is_data_parallel else ranks,
        int(number("pp") or 1),
        ranks if is_data_parallel else 1,
    )
    if not line["tp"] and is_latent_offline:
        replica = replace(replica, data_parallel_size=min(_NODE, gpus))
    elif not line["tp"]:
        replica = _smallest_that_fits(replica, gpus, is_data_parallel=is_data_parallel)
    budget = (usable_bytes(gpu) * _UTILIZATION - _OVERHEAD_BYTES) * replica.gpus - _resident_bytes(replica)
    engine = _engine(line, shape)
    context = held_tokens(input_tokens, output_tokens, reserves_answer=engine.reserves_answer)
    # `context_bytes` covers one rank of every stage; the ranks of a stage divide the cache.
    session = replica.context_bytes(context) * replica.kv_ranks
    measured = {
        name: value * scale
        for name, column, scale in (
            ("throughput", "out_tok_s_total", 1.0),
            ("itl", "itl_ms_mean", 1e-3),
            ("ttft", "ttft_ms_mean", 1e-3),
        )
        if (value := number(column))
    }
    return Row(
        line["id"],
        line["kind"],
        _REGIMES[line["kind"]],
        line["model"],
        line["gpu"],
        replica,
        max(1, gpus // replica.gpus),
        engine,
        line["engine"],
        input_tokens,
        output_tokens,
        number("concurrency"),
        max(1.0, budget / session),
        ITL_LIMITS_S.get((line["model"], line["kind"])),
        measured,
    )


def _engine(line: Mapping[str, str], shape: Shape) -> Engine:
    kind = line["kind"]
    if kind == "mlperf_server" and line["engine"].startswith("rocm"):
        return _MLPERF_AMD
    if kind == "mlperf_server" and shape.latent_width:
        return _MLPERF_LATENT
    if kind.startswith("mlperf"):
        return _MLPERF_OFFLINE if kind == "mlperf_offline" else MLPERF
    if line["engine"].startswith("nim"):
        return _NIM
    if line["engine"] in ("vllm", "sglang"):
        engine = VLLM if line["engine"] == "vllm" else _SGLANG
        return replace(engine, queue="queue_closed") if _has_same_lengths(line) else engine
    return _TENSORRT_2024 if kind == "static_batch" else TENSORRT


def _has_same_lengths(line: Mapping[str, str]) -> bool:
    """Whether all prompts and answers have one length: multiples of 128 are not the mean of random lengths."""
    return "same_lengths" in line["flags"] or all(float(line[name] or 1) % _LENGTH_STEP == 0 for name in ("isl", "osl"))


def _resident_bytes(replica: ReplicaModel) -> float:
    """Return the bytes of weights over all GPUs, including embeddings, which no step reads completely."""
    return replica.weights_bytes() + replica.shape.head_parameters * 2


def _smallest_that_fits(replica: ReplicaModel, gpus: int, *, is_data_parallel: bool) -> ReplicaModel:
    room = usable_bytes(replica.gpu) * _UTILIZATION * _WEIGHTS_SHARE
    ranks = next((n for n in (1, 2, 4, 8, 16) if _resident_bytes(replica) / n < room), 16)
    ranks = min(ranks, gpus)
    if is_data_parallel:
        return replace(replica, data_parallel_size=ranks)
    return replace(replica, tensor_parallel_size=ranks)


def alike(row: Row) -> set[str]:
    """Return the ids of all models with the shape of a row's model."""
    return {row.model_id} | {name for name in load_models() if _shape(name) == row.replica.shape}


def gpu_named(name: str) -> Gpu | None:
    """Return the GPU of a measurement; None if it is not in the catalogue."""
    if name == "GH200-96":  # an H100 with more and faster memory; NVIDIA GH200 data sheet, read 2026-11-20
        change = {"id": name, "usable_mib": 97_871, "memory_bandwidth_gb_s": 4000.0}
        return load_gpus()["H100-80GB-SXM"].model_copy(update=change)
    return load_gpus().get(_GPUS.get(name, name))


@cache
def _others() -> Mapping[str, Any]:
    content: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "models.yaml").read_text())
    return content


@cache
def _shape(name: str) -> Shape | None:
    other = _others().get(name, {})
    model = load_models().get(other.get("like", name))
    if model is not None:
        try:
            return Shape.of(model) if model.arch.layers and model.arch.kv_heads else None
        except InputError:  # no published measurement of this cache
            return None
    if not other:
        return None
    layers, hidden, heads, kv_heads, head_dim = (
        other[k] for k in ("layers", "hidden", "heads", "kv_heads", "head_dim")
    )
    per_layer = (
        2 * hidden * head_dim * (heads + kv_heads) + (3 if other.get("gated", True) else 2) * hidden * other["ffn"]
    )
    return Shape(
        layers=layers,
        hidden=hidden,
        attention_width=heads * head_dim,
        attention_layers=layers,
        dense_parameters=layers * per_layer,
        head_parameters=other["vocab"] * hidden,
        expert_parameters=0,
        experts=1,
        top_k=1,
        kv=KvCache((LayerGroup(AttentionSpan.FULL, layers, 2 * head_dim, kv_heads),)),
        exchanges=2 * layers,
    )
