"""The gateway in `site.yaml`: who may call, what may leave, and which clouds may get it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AnyHttpUrl, Field

from .access import Admin, CallerLimits, CertificateName, GroupName, IdentityProvider, Prices, Team
from .detect import Detect
from .policy import Policy
from .release import Handoff
from .routing import Capability, Route, Routing
from .tracing import Tracing
from .types import Country, Day, FilePath, HostName, ModelName, Name, Port, Secret, SpecModel
from .vault import KeyVersion, Vault

_GeneratedBy = Literal["chat.completions", "completions", "responses", "messages"]
_ComparedBy = Literal["embeddings", "rerank", "score"]
CloudSurface = Literal[_GeneratedBy, _ComparedBy]
"""An API that takes text, and so can take tokens; what a pool serves follows from its model."""


class Cloud(SpecModel):
    """A sovereign cloud that may receive tokenized text, and nothing else."""

    name: Name
    """What routes refer to."""
    base_url: AnyHttpUrl
    """OpenAI-compatible, such as https://10.9.0.2:443/v1; its address and port must be a perimeter exception."""
    model: ModelName
    """The model name the cloud knows."""
    surfaces: Annotated[list[CloudSurface], Field(min_length=1)] = Field(
        default_factory=lambda: list[CloudSurface](["chat.completions"])
    )
    """The APIs it serves, in OpenAI's words; `messages` is Anthropic's. A request of any other is never sent there."""
    jurisdiction: Country
    """Whose law holds what it is sent."""
    ca_file: FilePath | None = None
    """Private CA of the cloud, on the controller, relative to site.yaml; the system's when absent."""
    api_key: Secret | None = None
    """What the gateway shows it."""
    api_key_header: Literal["authorization", "x-api-key"] = "authorization"
    """Where it looks for the key: `Authorization: Bearer`, or `x-api-key` as Anthropic's API has it."""
    max_model_len: Annotated[int, Field(ge=16, le=16_777_216)] = 8192
    """Tokens of prompt and answer together."""
    capabilities: list[Capability] | None = None
    """What its model can do beyond text; what asks for anything else never goes there. All is tried when absent."""


class Client(SpecModel):
    """Who may call the gateway."""

    name: Name
    """An application or a person; what the audit records call it."""
    tenant: Name
    """Tokens never mean anything outside their tenant."""
    api_key: Secret
    """What it shows the gateway; each client has its own."""
    api_key_expires: Day | None = None
    """Last day (UTC) on which the key opens; afterwards site.yaml is refused until somebody decides."""
    certificates: list[CertificateName] = Field(default_factory=list)
    """Names in client certificates that open without the key, where `client_ca_file` is given: `dns:`, `uri:`,
    `email:`, `cn:`, or `sha256:` and the certificate's digest."""
    team: Name | None = None
    """One of `teams`, of the same tenant."""
    groups: list[GroupName] = Field(default_factory=list)
    """Told to pools in `send_principal`."""
    routes: list[ModelName] = Field(default_factory=list)
    """Model names this client may ask for; all of them when empty."""
    may_restore: bool = True
    """False: its answers keep their tokens; it never sees the values behind them."""
    is_admin: bool = False
    """May use the gateway's admin surface."""
    limits: CallerLimits = CallerLimits()
    """How much it may use; `each_caller` when it has none."""


class Gateway(SpecModel):
    """The only door: clients in, tokenized text out."""

    nodes: Annotated[list[Name], Field(min_length=1)]
    """Where it runs; on a hybrid site never on a machine with GPUs."""
    port: Port = 8443
    """Where clients connect, always with TLS."""
    admin: Admin | None = None
    """Where operators reach it; nowhere when absent."""
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    """Processes that serve on each node; more than its cores don't pay."""
    routes: Annotated[list[Route], Field(min_length=1)]
    """Every model name there is."""
    clouds: list[Cloud] = Field(default_factory=list)
    """On a hybrid site only."""
    routing: Routing = Routing()
    """When a server counts as full, and how long a request may take."""
    policy: Policy = Field(default_factory=Policy)
    """What may leave."""
    detect: Detect = Field(default_factory=Detect)
    """What is looked for beyond what is the same everywhere."""
    handoff: Handoff | None = None
    """Who looks at answers that are held back; without it a route may only refuse them."""
    tracing: Tracing | None = None
    """Where traces of requests go; there are none when absent."""
    format_preserving: list[Literal["EMAIL", "IBAN", "PHONE", "CARD"]] = Field(default_factory=list)
    """Kinds that get a stand-in of their own form, and nobody's, where a JSON schema in the request asks for it."""
    link_hosts: Annotated[list[HostName], Field(max_length=100)] = Field(default_factory=list)
    """Hosts of the site's own, in whose https links an answer may have values; in all other links it keeps tokens."""
    clients: Annotated[list[Client], Field(min_length=1)]
    """Everybody who may call."""
    client_ca_file: FilePath | None = None
    """Who signs the certificates of clients, on the controller, relative to site.yaml."""
    requires_client_certificate: bool = False
    """Nobody connects without a certificate of `client_ca_file`, whatever else he shows."""
    teams: list[Team] = Field(default_factory=list)
    """Clients and people who share rights and budgets."""
    identity_providers: list[IdentityProvider] = Field(default_factory=list)
    """Whose tokens are accepted (OpenID Connect)."""
    each_caller: CallerLimits = CallerLimits()
    """How much every client and every person may use that has no limits of its own."""
    prices: Prices | None = None
    """What tokens cost, for limits of cost; your own figures."""
    send_principal: list[Name] = Field(default_factory=list)
    """Pools that are told who is calling, in a header that they can verify: RAG and tools."""
    vault: Vault = Field(default_factory=Vault)
    """Where values wait, and under which keys."""
    vault_ttl_s: Annotated[int, Field(ge=60, le=31_536_000)] = 86_400
    """How long a conversation's tokens can be restored, in seconds."""
    token_key_versions: Annotated[list[KeyVersion], Field(min_length=1, max_length=16)] = Field(
        default_factory=lambda: [1]
    )
    """The first one makes tokens; the others go on in conversations that began under them. `apply` makes new ones."""
