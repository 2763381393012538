"""Type of an inference engine: capabilities, metrics and command line as data.

An engine has a capability if sovctl configures it for this engine. Further features of an engine are not listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal


class EngineCapability(StrEnum):
    """Feature that a pool can request from its engine."""

    TENSOR_PARALLEL = "tensor_parallel"
    PIPELINE_PARALLEL = "pipeline_parallel"
    DATA_PARALLEL = "data_parallel"
    EXPERT_PARALLEL = "expert_parallel"
    MULTI_NODE = "multi_node"
    """One replica on several nodes."""
    LORA = "lora"
    EMBEDDINGS = "embeddings"
    RERANK = "rerank"
    TRANSCRIPTION = "transcription"
    MTLS = "mtls"
    """The server requires client certificates. Without it, sovctl places a TLS proxy before the server."""
    QUEUE_CAP = "queue_cap"
    """Limit of queued requests, above which the server refuses."""
    DRAIN = "drain"
    """Running requests finish after SIGTERM."""
    SLEEP = "sleep"
    """The server releases GPU memory on request, and loads the weights again."""
    PREFILL_DECODE = "prefill_decode"
    """Prefill and decode by different servers."""
    QUANTIZATION = "quantization"
    """Quantization when the weights are loaded."""
    DTYPE = "dtype"
    """Choice of the data type of the weights."""
    KV_CACHE_DTYPE = "kv_cache_dtype"
    KV_CACHE_SIZE = "kv_cache_size"
    """Size of the KV cache in bytes, or as a fraction of GPU memory."""
    LATENCY_METRICS = "latency_metrics"
    """Histograms of the time to first token and between tokens, with the bucket edges of vLLM."""
    EAGER = "eager"
    """Start without CUDA graphs."""
    SERVE_FLAGS = "serve_flags"
    """Sections of a pool, whose fields are flags of `vllm serve`."""


@dataclass(frozen=True)
class Metric:
    """One metric of `/metrics`."""

    name: str
    unit: str
    """`requests`, `seconds`, or `ratio` from 0 to 1."""


@dataclass(frozen=True)
class Metrics:
    """Names in Prometheus' text format; None if the engine does not export the metric."""

    running: Metric
    waiting: Metric
    kv_cache: Metric | None = None
    """Used part of the KV cache."""
    time_to_first_token: Metric | None = None
    """Histogram."""
    inter_token_latency: Metric | None = None
    """Histogram."""
    steps: str | None = None
    """Counter that increases with each step of the engine while requests run."""


@dataclass(frozen=True, kw_only=True)
class Engine:
    """An inference engine.

    Args:
        name: in `software.engine`.
        title: in messages and texts.
        environment: name of its link in /opt/sovctl.
        capabilities: features that sovctl configures.
        metrics: names of its metrics.
        surfaces: client APIs that the gateway can request by role of the model, named as in
            gateway/settings/base/surface.py.
        metrics_path: path of the metrics on the server; a proxy serves it as /metrics.
        command: words before the flags; `{root}` is the folder of the environment, `{model}` the model's path.
        proxy_command: the words that start nginx; empty for an engine that requires client certificates itself.
        has_unix_socket: whether a server with a proxy listens on a Unix socket instead of a loopback port.
        marker: the word of `command` after which flags begin.
        variables: environment of every process, which disables outbound requests.
        forbidden_variables: variables that open development endpoints or let a request load files.
        working_folder: below `{root}`; empty: the state folder of the unit.
        packages: format of the packages in its lock.
        lab_only: why only a lab may use it; empty if every site may.
        uses_nccl: whether ranks communicate by NCCL, and processes run on GPUs.
        not_run: why no server of it was run; empty for a tested engine.
        source: release, and documents of its flags.
    """

    name: str
    title: str
    environment: str
    capabilities: frozenset[EngineCapability]
    metrics: Metrics
    surfaces: Mapping[str, tuple[str, ...]]
    metrics_path: str = "/metrics"
    command: tuple[str, ...]
    marker: str
    proxy_command: tuple[str, ...] = ()
    has_unix_socket: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)
    forbidden_variables: frozenset[str] = frozenset()
    working_folder: str = ""
    packages: Literal["wheel", "deb"] = "wheel"
    lab_only: str = ""
    uses_nccl: bool = True
    not_run: str = ""
    source: str

    @property
    def root(self) -> str:
        """Path of the environment on a node; a link to the folder in use."""
        return f"/opt/sovctl/{self.environment}"

    @property
    def program(self) -> str:
        """Name of the server's program in texts."""
        return (
            " ".join(self.command[:2]).rpartition("/")[2] if self.marker == "serve" else self.marker.rpartition("/")[2]
        )

    def command_line(self, model: str) -> list[str]:
        """Return the words before the flags.

        Args:
            model: path of the model.
        """
        return [word.format(root=self.root, model=model) for word in self.command]

    def is_marker(self, word: str) -> bool:
        """Return whether a word of a command line is the one after which flags begin."""
        return word == self.marker.format(root=self.root)
