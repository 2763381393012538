"""One vLLM server of a pool: model, GPU and the settings of site.yaml that sizing uses.

server = Server.of(model, gpu, pool, engine_version="0.32.0")
server.memory().kv_bytes, server.max_concurrency(4096), server.performance(demand)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ...catalog.calibrations import ServerCalibration
from ...catalog.gpus import Gpu
from ...catalog.models import ModelEntry
from ...spec import Pool
from ..demand.pool_demand import PoolDemand
from ..memory.cache_layout import kv_cache
from ..memory.gpu_memory import Edge, RankMemory, rank_memory
from ..memory.kv_cache import KvCache
from ..memory.quantization import named_precision
from ..memory.weights import Precision, Weights, released_precision
from ..performance.admission import held_tokens
from ..performance.calibration import Evidence, load_calibration, with_own_bands
from ..performance.capacity import Binding, Performance, Provenance
from ..performance.replica_model import ReplicaModel
from ..performance.step_time import Steps
from ..performance.throughput import Serving


def precision_of(pool: Pool, model: ModelEntry) -> Precision:
    """Return the precision of a pool's weights: that of `quantization`, or the released one.

    Raises:
        InputError: unknown quantization or released precision.
    """
    named = named_precision(pool.quantization) if pool.quantization else None
    return named or released_precision(model)


@dataclass(frozen=True)
class Server:
    """One server; all replicas of a pool are identical."""

    model: ModelEntry
    gpu: Gpu
    precision: Precision
    tensor_parallel_size: int
    pipeline_parallel_size: int
    max_model_len: int
    max_num_seqs: int
    kv_cache_dtype_bytes: float
    gpu_memory_utilization: float
    kv_cache_memory_bytes: int | None
    engine_version: str
    calibrations: tuple[ServerCalibration, ...] = ()
    """All calibrations of the site."""
    tokens_per_step: float = 1.0
    """Tokens per sequence and step; above 1 with speculative decoding, from site.yaml."""
    max_loras: int = 0
    """LoRA adapters loaded at the same time."""
    max_lora_rank: int = 16
    data_parallel_size: int = 1
    """Ranks with their own attention and KV cache, which share the experts."""
    enable_expert_parallel: bool = False

    @classmethod
    def of(
        cls,
        model: ModelEntry,
        gpu: Gpu,
        pool: Pool,
        *,
        engine_version: str,
        calibrations: tuple[ServerCalibration, ...] = (),
        tokens_per_step: float = 1.0,
    ) -> Server:
        """Return the server of a pool without `auto` fields.

        Raises:
            InputError: the catalogue lacks a figure of the model.
        """
        return cls(
            model=model,
            gpu=gpu,
            precision=precision_of(pool, model),
            tensor_parallel_size=pool.tensor_parallel_size,
            pipeline_parallel_size=pool.pipeline_parallel_size,
            max_model_len=pool.max_model_len,
            max_num_seqs=pool.max_num_seqs,
            kv_cache_dtype_bytes=1 if pool.kv_cache_dtype.startswith("fp8") else 2,
            gpu_memory_utilization=pool.gpu_memory_utilization,
            kv_cache_memory_bytes=pool.kv_cache_memory_bytes,
            engine_version=engine_version,
            calibrations=calibrations,
            tokens_per_step=tokens_per_step,
            max_loras=pool.lora.max_loras if pool.lora else 0,
            max_lora_rank=pool.lora.max_lora_rank if pool.lora else 16,
            data_parallel_size=pool.data_parallel_size,
            enable_expert_parallel=pool.enable_expert_parallel,
        )

    @property
    def site_calibration(self) -> ServerCalibration | None:
        """The site's calibration of this server; None if not measured, or with expert parallelism."""
        if self.enable_expert_parallel:
            return None
        size = self.tensor_parallel_size, self.pipeline_parallel_size
        key = self.model.id, self.gpu.id, self.precision.value, *size
        return next((each for each in self.calibrations if each.key == key), None)

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.tensor_parallel_size * self.pipeline_parallel_size * self.data_parallel_size

    @property
    def evidence(self) -> Evidence:
        """Published measurements of this model on this GPU."""
        return load_calibration().evidence(self.model.id, self.gpu.id)

    @property
    def provenance(self) -> Provenance:
        """Source of the times."""
        if self.site_calibration is not None:
            return Provenance.CALIBRATED
        return Provenance.MEASURED if self.evidence is Evidence.PAIR else Provenance.MODELLED

    @property
    def provenance_words(self) -> str:
        """Reason for the provenance, such as `this GPU was measured, this model was not`."""
        if self.site_calibration is not None:
            return "corrected by this site's measurements"
        return self.evidence.description

    @cached_property
    def kv_cache(self) -> KvCache:
        """KV cache of the model."""
        return kv_cache(self.model)

    @cached_property
    def weights(self) -> Weights:
        """Weights of the model."""
        return Weights(self.model, self.precision)

    def memory(self, edge: Edge = Edge.PESSIMISTIC) -> RankMemory:
        """Return the memory of the fullest GPU."""
        return rank_memory(
            self.gpu,
            self.weights,
            engine_version=self.engine_version,
            tensor_parallel_size=self.tensor_parallel_size,
            pipeline_parallel_size=self.pipeline_parallel_size,
            data_parallel_size=self.data_parallel_size,
            enable_expert_parallel=self.enable_expert_parallel,
            gpu_memory_utilization=self.gpu_memory_utilization,
            adapters=self.max_loras,
            adapter_rank=self.max_lora_rank,
            edge=edge,
        )

    def kv_bytes(self, edge: Edge = Edge.PESSIMISTIC) -> float:
        """Return the bytes of KV cache per GPU: `kv_cache_memory_bytes` if set; 0 for an encoder."""
        if not self.kv_cache.is_kept:
            return 0.0
        if self.kv_cache_memory_bytes is not None:
            return float(self.kv_cache_memory_bytes)
        return max(0.0, self.memory(edge).kv_bytes)

    def max_concurrency(self, tokens: float, edge: Edge = Edge.PESSIMISTIC) -> float:
        """Return the sequences of `tokens` that fit on all ranks; for an encoder the largest batch."""
        if not self.kv_cache.is_kept:
            return float(self.data_parallel_size * self.max_num_seqs) if self.memory(edge).fits else 0.0
        return self.data_parallel_size * self.kv_cache.max_concurrency(
            self.kv_bytes(edge),
            max(1, round(tokens)),
            tensor_parallel_size=self.tensor_parallel_size,
            pipeline_parallel_size=self.pipeline_parallel_size,
            kv_cache_dtype_bytes=self.kv_cache_dtype_bytes,
        )

    def sequence_bytes(self, tokens: float) -> float:
        """Return the bytes of one session of `tokens` on each GPU."""
        return self.kv_cache.sequence_bytes(
            max(1, round(tokens)),
            tensor_parallel_size=self.tensor_parallel_size,
            pipeline_parallel_size=self.pipeline_parallel_size,
            kv_cache_dtype_bytes=self.kv_cache_dtype_bytes,
        )

    @property
    def is_generative(self) -> bool:
        """False for embedding and reranker models, which generate no tokens."""
        return self.model.role not in ("embedding", "reranker")

    def serving(
        self,
        input_tokens: float,
        output_tokens: float,
        *,
        held: float | None = None,
        factor: float = 1.0,
        prefix_hit_share: float = 0.0,
    ) -> Serving:
        """Return the server under load.

        Args:
            held: mean tokens of a running request in the KV cache; None for answers of one length.
            factor: step time of this server / step time from published measurements.

        Raises:
            InputError: the catalogue lacks a figure of the model's shape.
        """
        replica = ReplicaModel.of(
            self.model,
            self.gpu,
            precision=self.precision,
            kv_cache_dtype_bytes=self.kv_cache_dtype_bytes,
            tensor_parallel_size=self.tensor_parallel_size,
            pipeline_parallel_size=self.pipeline_parallel_size,
            data_parallel_size=self.data_parallel_size,
        )
        if held is None:
            held = held_tokens(input_tokens, output_tokens)
        sequences = self.max_concurrency(held if self.is_generative else input_tokens)
        steps = Steps(replica, load_calibration().constant, factor=factor)
        most = min(sequences, float(self.max_num_seqs * self.data_parallel_size))  # vLLM applies max_num_seqs per rank
        return Serving(steps, sequences, most, prefix_hit_share=prefix_hit_share, tokens_per_step=self.tokens_per_step)

    def performance(self, demand: PoolDemand) -> Performance:
        """Return the performance under a demand, with the site's calibration if it has one.

        Raises:
            InputError: the catalogue lacks a figure of the model's shape.
        """
        shipped, own = load_calibration().bands[self.evidence], self.site_calibration
        serving = self.serving(
            demand.input_tokens,
            demand.output_tokens,
            held=demand.held_tokens,
            factor=own.factor if own else 1.0,
            prefix_hit_share=demand.prefix_hit_share,
        )
        return Performance(
            serving,
            with_own_bands(shipped, own) if own else shipped,
            serving.max_batch,
            Binding.KV_CACHE
            if self.kv_cache.is_kept and serving.kv_max_concurrency <= self.max_num_seqs * self.data_parallel_size
            else Binding.MAX_NUM_SEQS,
            is_generative=self.is_generative,
        )
