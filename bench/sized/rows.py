"""Published measurements as rows that the sizing model can be asked about.

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
from sovctl.engine.sizing.performance.engines import TENSORRT, VLLM, Engine
from sovctl.engine.sizing.performance.replica_model import ReplicaModel, Shape, generation_of
from sovctl.engine.sizing.performance.step_time import Steps
from sovctl.engine.sizing.performance.throughput import Estimate, Regime, Serving
from sovctl.support.errors import InputError

# What the measurements call a GPU, and what the catalogue does.
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
    "MI350X": "MI355X",  # the same part with less power; its own clocks are not published
}
_PRECISIONS = {"bf16": "bf16", "fp16": "bf16", "fp8": "fp8", "int8": "int8", "int4": "int4", "fp4": "nvfp4"}
# Precisions that the file infers and that the submitters' configurations, in validation_parallelism.csv, contradict.
_SUBMITTED = {("mixtral-8x7b", "RTX-PRO-6000"): Precision.FP8}
_KV_BYTES = {"fp8": 1.0, "nvfp4": 0.5625}  # anything else is 16 bits
_REGIMES = {
    "static_batch": Regime.STATIC,
    "closed_loop": Regime.CLOSED,
    "offline_max": Regime.OFFLINE,
    "mlperf_offline": Regime.OFFLINE,
    "mlperf_server": Regime.OPEN,
    "mlperf_interactive": Regime.OPEN,
}
_UTILIZATION = 0.9
_OVERHEAD_BYTES = 2.5e9  # middle of what vLLM's logs show, 2.31 to 2.67 GiB: overheads.yaml
_TENSORRT_2024 = Engine("TensorRT-LLM 0.9", "engine_2024", "layer_2024_us")
_NIM = Engine("NIM 1.0", "engine_nim", "layer_2024_us", "server_2024_us")
MLPERF = Engine("MLPerf", "engine_mlperf", per_sequence="server_us")
# AMD's submissions plan 11 steps at once (`num_scheduler_steps`; closed/AMD, llama2-70b, configuration of v5.1, read
# 2026-11-22): half of them and the next one.
_MLPERF_AMD = replace(MLPERF, name="MLPerf, AMD", steps_before=11 / 2 + 1)
# NVIDIA's harness gathers prompts for 10 steps where attention is data parallel (`adp_balancing_batching_wait_iters`,
# read 2026-11-22), which is how latent attention is served. Offline rows are computed so; here step times are those of
# the TP that the file names: of attention apart the model makes 1.5 times the throughput that was measured.
_MLPERF_LATENT = replace(MLPERF, name="MLPerf, latent", steps_before=10 + 1.5)
# A client that asks for answers of one length makes convoys; InferenceX's draws lengths and names their mean.
_VLLM_ALIKE = replace(VLLM, queue="queue_closed")
_ALIKE_TOKENS = 128
_MLPERF_OFFLINE = Engine("MLPerf", "engine_mlperf")
_ANSWER_TOKENS = 200.0  # where nobody says; a guess that no row of the public file needs
_HALVINGS = 12  # of an interval of at most some thousand requests: exact to one
_NODE = 8  # GPUs over which submitters spread the experts of a latent model, where they say it
_ROOM = 0.8  # of the budget that weights may take, where a row does not say on how many GPUs a replica stood
# Rows that are wrong in themselves: fake weights wake one expert, outliers were marked by whoever collected them.
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
    """The engine as the measurement names it; empty where it does not."""
    input_tokens: float
    output_tokens: float
    clients: float | None
    kv_sessions: float
    itl_limit_s: float | None
    """99th percentile that the scenario allows; None without one."""
    measured: Mapping[str, float]
    """`throughput` in tokens/s of all GPUs, `itl` and `ttft` in seconds, as far as they are there."""

    def estimate(self, constant: Callable[[str], float]) -> Estimate:
        """What the model says of one replica."""
        steps = Steps(self.replica, constant, self.engine)
        most = constant("max_batch") * (2 if self.kind == "mlperf_offline" else 1)
        most *= self.replica.gpus_per_stage
        serving = Serving(steps, self.kv_sessions, most)
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
        """The most under open arrivals within a mean time between tokens; as much as fits where that keeps to it."""
        most = serving.offline(self.input_tokens, self.output_tokens)
        low, high = 1.0, most.batch
        if serving.open(high, self.input_tokens, self.output_tokens).itl_s <= itl_s:
            return most
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            keeps = serving.open(middle, self.input_tokens, self.output_tokens).itl_s <= itl_s
            low, high = (middle, high) if keeps else (low, middle)
        return serving.open(low, self.input_tokens, self.output_tokens)

    def computed(self, constant: Callable[[str], float]) -> dict[str, float]:
        """What the model says of the quantities that were measured."""
        estimate = self.estimate(constant)
        whole = {"throughput": estimate.output_tokens_per_s * self._whole, "itl": estimate.itl_s}
        if estimate.ttft_s is not None:
            whole["ttft"] = estimate.ttft_s
        return {name: value for name, value in whole.items() if name in self.measured}

    @property
    def model_id(self) -> str:
        """Of the catalogue's model of that shape, or what the measurement calls it."""
        return str(_others().get(self.model, {}).get("like", self.model))

    @property
    def _whole(self) -> int:
        return self.replicas if self.regime is not Regime.STATIC else 1


def read_rows(path: Path) -> tuple[list[Row], Counter[str]]:
    """The rows of a file, and how many could not be read, by model or GPU that is not known here."""
    rows: list[Row] = []
    unknown: Counter[str] = Counter()
    with path.open(newline="") as file:
        for line in csv.DictReader(file):
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
    context = input_tokens + output_tokens
    # All stages of a pipeline together hold what `context_bytes` counts; every rank of a stage its own share.
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
        _engine(line, shape),
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
        return _VLLM_ALIKE if _is_alike(line) else VLLM
    return _TENSORRT_2024 if kind == "static_batch" else TENSORRT


def _is_alike(line: Mapping[str, str]) -> bool:
    """True where prompts and answers are all of one length: whole multiples of a number, not the mean of a draw."""
    return all(float(line[name] or 1) % _ALIKE_TOKENS == 0 for name in ("isl", "osl"))


def _resident_bytes(replica: ReplicaModel) -> float:
    """Weights over all GPUs; embeddings lie there too, though no step reads all of them."""
    return replica.weights_bytes() + replica.shape.head_parameters * 2


def _smallest_that_fits(replica: ReplicaModel, gpus: int, *, is_data_parallel: bool) -> ReplicaModel:
    room = usable_bytes(replica.gpu) * _UTILIZATION * _ROOM
    ranks = next((n for n in (1, 2, 4, 8, 16) if _resident_bytes(replica) / n < room), 16)
    ranks = min(ranks, gpus)
    if is_data_parallel:
        return replace(replica, data_parallel_size=ranks)
    return replace(replica, tensor_parallel_size=ranks)


def alike(row: Row) -> set[str]:
    """Ids of models that the time model cannot tell from a row's: its own, and the catalogue's of the same shape."""
    return {row.model_id} | {name for name in load_models() if _shape(name) == row.replica.shape}


def gpu_named(name: str) -> Gpu | None:
    """The GPU that a measurement means; None where it is not in the catalogue."""
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
        except InputError:  # a cache that nobody could hold the arithmetic against
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
