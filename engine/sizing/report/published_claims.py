"""Compares published sizing claims (calculators, blog posts, source documents) with the computation of this package.

Every claim in `engine/catalog/claims.yaml` has a figure. This module computes the same figure with the functions that
size a site. Verdicts:
- OK: equal within the precision of the claim;
- UNIT: one unit was used instead of another;
- INCONSISTENT: the claim contradicts its own inputs;
- WRONG: otherwise.

    claim = load_claims()["s3-worked-example-kv"]
    claim.said, claim.computed(), claim.verdict        # 17.5, 214.7, WRONG

    python -m sovctl.engine.sizing.report.published_claims docs    # writes docs/sizing-claims.md
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from math import ceil
from pathlib import Path
from types import MappingProxyType

from sovctl.support.atomic_files import write_atomic

from ...catalog.figure import CatalogModel, read_catalog
from ...catalog.gpus import load_gpus
from ...catalog.models import load_models
from ...catalog.overheads import load_overheads
from ...catalog.platforms import load_platforms, load_scalable_units
from .. import GIB
from ..memory.cache_layout import kv_cache
from ..memory.gpu_memory import RankMemory, rank_memory
from ..memory.weights import Precision, Weights
from ..performance.calibration import load_calibration
from ..performance.engines import TENSORRT
from ..performance.replica_model import ReplicaModel
from ..performance.step_time import Steps
from ..performance.throughput import Serving
from ..pool.parallelism import Objective, parallel_layouts

BF16, FP8, INT4, INT8, NVFP4 = Precision.BF16, Precision.FP8, Precision.INT4, Precision.INT8, Precision.NVFP4
H100, H200, GB200 = "H100-80GB-SXM", "H200-141GB-SXM", "GB200-NVL72-GPU"
L8, L70, L405, X22, Q235 = "llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b", "mixtral-8x22b", "qwen3-235b-a22b"
_VLLM = "0.32.0"
_UNIT_WITHIN = 0.03
_KB = 1024


class Verdict(StrEnum):
    """Result of the comparison."""

    OK = "OK"
    UNIT = "UNIT"
    INCONSISTENT = "INCONSISTENT"
    WRONG = "WRONG"


class Claim(CatalogModel):
    """One published figure."""

    id: str
    document: str
    """Source document, S0 to S4."""
    says: str
    said: float
    """The published figure; the mean of a range."""
    unit: str
    verdict: Verdict
    because: str
    """Reason for the difference, or for the agreement."""
    tolerance: float = 0.03
    """Accepted relative difference; larger for claims with one digit."""
    unit_factor: float | None = None
    """said / computed of a claim with the wrong unit; None otherwise."""

    def computed(self) -> float:
        """Return the figure computed by this package."""
        return COMPUTED[self.id]()

    def judged(self) -> Verdict:
        """Return the verdict from both figures; INCONSISTENT only if the file marks the claim so."""
        ratio = self.said / self.computed()
        if abs(ratio - 1) <= self.tolerance:
            return Verdict.OK
        if self.unit_factor is not None and abs(ratio / self.unit_factor - 1) <= _UNIT_WITHIN:
            return Verdict.UNIT
        return Verdict.INCONSISTENT if self.verdict is Verdict.INCONSISTENT else Verdict.WRONG


def _kv(model: str, tokens: float = 1, *, kv_cache_dtype_bytes: float = 2) -> float:
    """Return the bytes of KV cache on one GPU."""
    return tokens * kv_cache(load_models()[model]).token_bytes(kv_cache_dtype_bytes=kv_cache_dtype_bytes)


def _weights(model: str, precision: Precision) -> float:
    return Weights.of(load_models()[model], precision).total_bytes()


def _memory(model: str, precision: Precision, gpu: str, tensor_parallel_size: int) -> RankMemory:
    weights = Weights.of(load_models()[model], precision)
    return rank_memory(load_gpus()[gpu], weights, engine_version=_VLLM, tensor_parallel_size=tensor_parallel_size)


def _max_concurrency(
    model: str,
    precision: Precision,
    gpu: str,
    tensor_parallel_size: int,
    tokens: int,
    *,
    kv_cache_dtype_bytes: float = 2,
) -> float:
    """Return the sessions of `tokens` in one replica."""
    room = max(0.0, _memory(model, precision, gpu, tensor_parallel_size).kv_bytes)
    return kv_cache(load_models()[model]).max_concurrency(
        room, tokens, tensor_parallel_size=tensor_parallel_size, kv_cache_dtype_bytes=kv_cache_dtype_bytes
    )


def _least_gpus(
    model: str, precision: Precision, gpu: str, tokens: int, users: int, *, kv_cache_dtype_bytes: float
) -> int:
    return next(
        n
        for n in (1, 2, 4, 8)
        if _max_concurrency(model, precision, gpu, n, tokens, kv_cache_dtype_bytes=kv_cache_dtype_bytes) >= users
    )


def _steps(model: str, precision: Precision, gpu: str, tensor_parallel_size: int) -> Steps:
    replica = ReplicaModel.of(
        load_models()[model],
        load_gpus()[gpu],
        precision=precision,
        kv_cache_dtype_bytes=1,
        tensor_parallel_size=tensor_parallel_size,
    )
    return Steps(replica, load_calibration().constant, TENSORRT)


def _rack_tokens_per_s(tensor_parallel_size: int = 4) -> float:
    """Return the output tokens/s of 405B FP8 on a GB200 rack, 4,096 input and 512 output tokens."""
    sessions = _max_concurrency(L405, FP8, GB200, tensor_parallel_size, 4608, kv_cache_dtype_bytes=1)
    return (
        Serving(_steps(L405, FP8, GB200, tensor_parallel_size), sessions, 512).offline(4096, 512).output_tokens_per_s
        * 72
        / tensor_parallel_size
    )


def _racks_for_sequences(sessions: int) -> int:
    """Return the GB200 racks (nine replicas of 8 GPUs each) for sessions of 4,608 tokens of 405B in bf16."""
    return ceil(sessions / (9 * _max_concurrency(L405, BF16, GB200, 8, 4608)))


def _widest(gpus: int) -> int:
    """Return the largest tensor parallel size at which Qwen3-235B in block FP8 starts on H100."""
    layouts = parallel_layouts(
        load_models()[Q235],
        load_gpus()[H100],
        precision=FP8,
        gpus=gpus,
        objective=Objective(2000, 500),
        engine_version=_VLLM,
    )
    return max(
        layout.gpus
        for layout in layouts
        if layout.data_parallel_size == 1 and layout.pipeline_parallel_size == 1 and not layout.refused
    )


def _per_million(gpus: int, price_per_hour: float, tokens_per_s: float) -> float:
    return gpus * price_per_hour / (tokens_per_s * 3600 / 1e6)


_H100 = load_gpus()[H100]

# How each claim's figure is computed, by id.
COMPUTED: Mapping[str, Callable[[], float]] = MappingProxyType(
    {
        # S0: 405B for a bank on GB200 racks
        "s0-405b-layers": lambda: load_models()[L405].arch.layers or 0,
        "s0-405b-kv-token": lambda: _kv(L405),
        "s0-405b-kv-per-layer": lambda: _kv(L405) / (load_models()[L405].arch.layers or 1),
        "s0-session-128k": lambda: _kv(L405, 131072) / 1e9,
        "s0-session-4608": lambda: _kv(L405, 4608) / 1e9,
        "s0-sessions-6000": lambda: _kv(L405, 4608) * 6000 / 1e12,
        "s0-405b-weights": lambda: _weights(L405, BF16) / 1e9,
        "s0-context-ratio": lambda: _kv(L405, 131072) / _kv(L405, 4096),
        "s0-cluster-sessions-4k": lambda: 18 * _max_concurrency(L405, BF16, GB200, 8, 4608),
        "s0-cluster-sessions-32k": lambda: 18 * _max_concurrency(L405, BF16, GB200, 8, 32768),
        "s0-racks": lambda: _racks_for_sequences(6000),
        "s0-total-memory": lambda: (18 * _weights(L405, BF16) + 6000 * _kv(L405, 4608)) / 1e12,
        "s0-rack-memory": lambda: 72 * (load_gpus()[GB200].usable_mib or 0) * (1 << 20) / 1e12,
        "s0-gpus-fp16": lambda: ceil(_weights(L405, BF16) / 192e9),
        "s0-gpus-fp8": lambda: ceil(_weights(L405, FP8) / 192e9),
        "s0-tp8-share": lambda: _memory(L405, BF16, GB200, 8).weights_bytes / 1e9,
        "s0-tp8-left": lambda: _memory(L405, BF16, GB200, 8).kv_bytes / 1e9,
        "s0-shared-prefix": lambda: _kv(L405, 2048) / 1e9,
        "s0-concurrency": lambda: 780 * 512 / 30,
        "s0-tokens-per-s": lambda: 780 * 512,
        "s0-rack-throughput": _rack_tokens_per_s,
        "s0-racks-for-throughput": lambda: 780 * 512 / 50_000,
        "s0-power": lambda: 4 * (load_platforms()["dgx-gb200-nvl72"].max_power_kw or 0),
        "s0-cloud-month": lambda: 576 * 12.5 * 730 / 1e6,
        "s0-context-growth": lambda: 1e6 / 2048,
        # S1: an 8B model on one card
        "s1-8b-weights": lambda: _weights(L8, BF16) / 1e9,
        "s1-8k-tokens": lambda: _kv(L8, 8192) / 1e9,
        "s1-40-users": lambda: (_kv(L8, 8192) * 40 + _weights(L8, BF16)) / 1e9,
        "s1-same-tokens": lambda: 60 * 8192 / 32768,
        "s1-15-users-fit": lambda: _max_concurrency(L8, BF16, H100, 1, 32768),
        # S2: formulas
        "s2-kv-by-heads": lambda: _kv(L70),
        "s2-kv-by-hidden": lambda: _kv(L70),
        # S3: a bank's pools
        "s3-in-flight": lambda: 5000 * 0.15 * 0.05 * 3,
        "s3-pools": lambda: ceil(5000 * 0.15 * 0.05 * 3 / 150) + 1,
        "s3-nvl72-memory": lambda: 72 * load_gpus()[GB200].memory_label_gb / 1e3,
        "s3-nvlink-pcie": lambda: _H100.scale_up.gb_s_per_gpu_per_direction / (_H100.pcie_gb_s_per_direction or 1),
        "s3-b200-memory": lambda: (load_gpus()["B200-SXM"].usable_mib or 0) * (1 << 20) / 1e9,
        "s3-l40s-bandwidth": lambda: load_gpus()["L40S"].memory_bandwidth_gb_s / 1e3,
        "s3-50-users-100k": lambda: _kv(L70, 100_000) * 50 / 1e9,
        "s3-worked-example-kv": lambda: _kv(L70, 32768) * 20 / 1e9,
        "s3-worked-example-total": lambda: 1.2 * (_weights(L70, INT8) + _kv(L70, 32768) * 20) / 1e9,
        "s3-worked-example-h200": lambda: _least_gpus(L70, INT8, H200, 32768, 20, kv_cache_dtype_bytes=2),
        "s3-worked-example-h200-fp8": lambda: _least_gpus(L70, INT8, H200, 32768, 20, kv_cache_dtype_bytes=1),
        "s3-235b-total": lambda: Weights.of(load_models()[Q235]).total_parameters / 1e9,
        "s3-235b-gpus": lambda: next(n for n in (1, 2, 4, 8) if _memory(Q235, FP8, H100, n).fits),
        "s3-235b-over-8": lambda: _widest(8),
        "s3-150-in-flight": lambda: _max_concurrency(Q235, FP8, H100, 8, 32768),
        "s3-client-pools": lambda: ceil(1000 / 150) + 1,
        "s3-kimi-total": lambda: Weights.of(load_models()["kimi-k2"]).total_parameters / 1e12,
        "s3-disaggregation": lambda: 10.0 / 0.355,
        "s3-gb200-su": lambda: load_scalable_units()["SuperPOD-GB200"].racks_per_su or 0,
        "s3-gb200-su-power": lambda: load_scalable_units()["SuperPOD-GB200"].power_mw_per_su or 0,
        "s3-pod-power": lambda: load_platforms()["dgx-h100"].max_power_kw or 0,
        "s3-eight-gpus": lambda: 45e6 / 760 * 8 / 1e3,
        # S4: costs
        "s4-h100-fp8": lambda: _H100.dense_tflops.fp8 or 0,
        "s4-prefill": lambda: _steps(L70, FP8, H100, 1).prefill_s(4096, 4096) * 1e3,
        "s4-70b-kv-token": lambda: _kv(L70),
        "s4-70b-4k": lambda: _kv(L70, 4096) / 1e9,
        "s4-70b-128k": lambda: _kv(L70, 131072) / 1e9,
        "s4-32-users": lambda: _kv(L70, 4096) * 32 / 1e9,
        "s4-cache-over-weights": lambda: _kv(L70, 131072) / _weights(L70, FP8),
        "s4-table-8b-token": lambda: _kv(L8) / _KB,
        "s4-table-70b-token": lambda: _kv(L70) / _KB,
        "s4-table-405b-token": lambda: _kv(L405) / _KB,
        "s4-table-8x22b-token": lambda: _kv(X22) / _KB,
        "s4-table-8b-4k": lambda: _kv(L8, 4096) / 1e9,
        "s4-table-405b-4k": lambda: _kv(L405, 4096) / 1e9,
        "s4-table-8x22b-4k": lambda: _kv(X22, 4096) / 1e9,
        "s4-table-8b-128k": lambda: _kv(L8, 131072) / 1e9,
        "s4-table-405b-128k": lambda: _kv(L405, 131072) / 1e9,
        "s4-table-8x22b-context": lambda: (load_models()[X22].max_context or 0) / 1024,
        "s4-70b-fp16-two-h100": lambda: _max_concurrency(L70, BF16, H100, 2, 4096),
        "s4-70b-fp8-one-h100": lambda: _max_concurrency(L70, FP8, H100, 1, 4096),
        "s4-prefix-100": lambda: 100 * _kv(L70, 2048) / 1e9,
        "s4-prefix-saves": lambda: _kv(L70, 2000) / 1e6,
        "s4-70b-int4": lambda: _weights(L70, INT4) / 1e9,
        "s4-70b-fp4": lambda: _weights(L70, NVFP4) / 1e9,
        "s4-tp4-tpot": lambda: _steps(L70, FP8, H100, 4).decode_s(1, 512) * 1e3,
        "s4-per-million-engine": lambda: _per_million(8, 2.5, 4800),
        "s4-per-million-4": lambda: _per_million(4, 2.5, 3400),
        "s4-per-million-reserved": lambda: _per_million(4, 1.6, 3400),
        "s4-per-million-idle": lambda: _per_million(4, 1.6, 3400) / 0.1,
        "s4-break-even": lambda: 4608 / 10,
        "s4-rule-of-thumb": lambda: 4608 / 10,
        "s4-8-gpus-a-year": lambda: 8 * 2.5 * 8760 / 1e3,
        "s4-40-gpus-a-year": lambda: 40 * 2.5 * 8760 / 1e3,
        "s4-4-gpus-a-year": lambda: 4 * 2.5 * 8760 / 1e3,
        "s4-month": lambda: 4 * 1.6 * 730,
        "s4-adapter-share": lambda: 100 * 700e6 / _weights(L70, BF16),
        "s4-cold-start": lambda: max(each.high_s for each in load_overheads().cold_start),
        "s3-non-kv": lambda: load_overheads().of_vllm(_VLLM).high_gib * GIB / 1e9,
    }
)


@cache
def load_claims() -> Mapping[str, Claim]:
    """Return every claim by id, in the order of the file."""
    claims = [Claim.model_validate(row) for row in read_catalog("claims")["claims"]]
    return MappingProxyType({claim.id: claim for claim in claims})


def page() -> str:
    """Return the text of docs/sizing-claims.md."""
    claims = load_claims().values()
    counts = ", ".join(f"{sum(each.verdict is verdict for each in claims)} {verdict}" for verdict in Verdict)
    lines = [
        "# Published figures and computed values",
        "",
        "Generated from `engine/catalog/claims.yaml` by",
        "`python -m sovctl.engine.sizing.report.published_claims docs`. Do not edit.",
        "",
        "Figures from the source documents of this project, which many calculators also use, and the values that",
        "`sovctl` computes from the same inputs. A test compares every verdict with the computation.",
        "",
        f"{len(claims)} figures: {counts}. UNIT: gigabytes instead of gibibytes, or one layer instead of the model.",
        "",
        "| document | claim | claimed | computed | unit | verdict | reason |",
        "|---|---|---:|---:|---|---|---|",
    ]
    lines += [
        f"| {c.document} | {c.says} | {c.said:,.6g} | {c.computed():,.4g} | {c.unit} | {c.verdict} | {c.because} |"
        for c in claims
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    write_atomic(Path(sys.argv[1]) / "sizing-claims.md", page())
