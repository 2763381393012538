"""`gateway` of `site.yaml`: clients, routes, policy, and the clouds that may receive tokenized text."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AnyHttpUrl, Field, StringConstraints

from ..rollout import MinServing
from ..types import (
    Country,
    Day,
    FilePath,
    HostName,
    ModelName,
    Name,
    Port,
    Secret,
    SpecModel,
    words,
)
from .access import (
    Admin,
    CallerLimits,
    CertificateName,
    GatewayAccess,
    GroupName,
    IdentityProvider,
    ListedHits,
    Prices,
    Team,
)
from .cloud_api import AzureOpenAI, Bedrock, CloudApi, CloudModelName, Vertex
from .detect import Detect
from .policy import Policy
from .release import Handoff
from .request_fields import RequestFieldsRow
from .routing import Capability, Limits, Route, Routing
from .tracing import Tracing
from .vault import TokenKey, Vault

_GeneratedBy = Literal["chat.completions", "completions", "responses", "messages"]
_ComparedBy = Literal["embeddings", "rerank", "score"]
CloudSurface = Literal[_GeneratedBy, _ComparedBy]
"""An API with text input, which can be tokenized. The APIs of a pool follow from its model."""


class CloudProxy(SpecModel):
    """An HTTP proxy in front of a cloud. The gateway opens a tunnel through it (CONNECT) and speaks TLS with the cloud
    in the tunnel, so the proxy sees host, port and sizes only."""

    url: AnyHttpUrl
    """URL of the proxy: scheme, IPv4 address and port, such as https://10.9.0.8:3129. Needs a perimeter exception
    instead of the cloud."""
    user: (
        Annotated[
            str,
            StringConstraints(pattern=r"^[^:\x00-\x1f\x7f]{1,255}$"),
            words("printable characters without colons", kind="user"),
        ]
        | None
    ) = None
    """User for Basic authentication, with `password`. Default: none."""
    password: Secret | None = None
    """Password of the user."""
    ca_file: FilePath | None = None
    """Private CA of the proxy's own certificate, with an https URL; on the controller, relative to site.yaml. Default:
    the system's CAs."""
    allow_password_in_clear: bool = False
    """Whether the password may be sent over plain http, where the network can read it."""


class Cloud(SpecModel):
    """A cloud that may receive tokenized text, and never raw text."""

    name: Name
    """Name that routes refer to."""
    base_url: AnyHttpUrl
    """Base URL, such as https://10.9.0.2:443/v1. Its address and port need a perimeter exception. With `proxy`, a host
    name is possible, because the proxy resolves it, and the proxy needs the exception."""
    api: CloudApi = "openai"
    """API of the cloud: OpenAI's and compatible ones, Azure OpenAI, Anthropic, Amazon Bedrock or Google Vertex AI. See
    docs/upstream-apis.md."""
    model: CloudModelName
    """Model name in requests to the cloud. Azure OpenAI: the deployment. Bedrock: the id or ARN."""
    surfaces: Annotated[list[CloudSurface], Field(min_length=1)] = Field(
        default_factory=lambda: list[CloudSurface](["chat.completions"])
    )
    """APIs of clients that the cloud serves, named as in OpenAI's API; `messages` is Anthropic's. Requests of other
    APIs are not sent to it. The gateway translates those that `api` lacks."""
    translated_surfaces: list[Literal["messages"]] = Field(default_factory=list)
    """Those of `surfaces` that a cloud of `api: openai` lacks; the gateway translates them to chat completions."""
    default_max_tokens: Annotated[int, Field(ge=1, le=16_777_216)] | None = None
    """Maximum tokens of an answer if the client states none and the cloud requires a number. Default: 4,096."""
    azure: AzureOpenAI | None = None
    """Settings of `api: azure-openai`."""
    bedrock: Bedrock | None = None
    """Settings of `api: bedrock`; required there."""
    vertex: Vertex | None = None
    """Settings of `api: vertex`; required there."""
    jurisdiction: Country
    """Country whose law applies to the data that the cloud receives."""
    ca_file: FilePath | None = None
    """Private CA of the cloud, on the controller, relative to site.yaml. Default: the system's CAs."""
    api_key: Secret | None = None
    """API key that the gateway sends to the cloud."""
    api_key_header: Literal["authorization", "x-api-key", "api-key"] | None = None
    """Header of the key. Default: `x-api-key` with api `anthropic`, `api-key` with `azure-openai`, otherwise
    `authorization` (a bearer token)."""
    proxy: CloudProxy | None = None
    """HTTP proxy in front of the cloud. Default: none."""
    max_model_len: Annotated[int, Field(ge=16, le=16_777_216)] = 8192
    """Maximum tokens of prompt and answer together."""
    capabilities: list[Capability] | None = None
    """Features of its model beyond text. Requests that need another feature are not sent to it. Default: all."""

    @property
    def credentials(self) -> Secret | None:
        """Keys with which requests are signed, or exchanged for a token; None without."""
        if self.bedrock is not None:
            return self.bedrock.credentials
        return self.vertex.service_account if self.vertex is not None else None

    @property
    def credentials_place(self) -> str:
        """Path of `credentials` below the cloud."""
        return "bedrock.credentials" if self.bedrock is not None else "vertex.service_account"


class Client(SpecModel):
    """An application or person with an API key for the gateway."""

    name: Name
    """Name of the client in audit records."""
    tenant: Name
    """Tenant of the client. Tokens are valid within one tenant only."""
    api_key: Secret
    """API key that the client sends; each client needs a different one."""
    api_key_expires: Day | None = None
    """Last day (UTC) on which the key is valid. Afterwards site.yaml is rejected until the key is replaced."""
    certificates: list[CertificateName] = Field(default_factory=list)
    """Names in client certificates that authenticate the client without the key; requires `client_ca_file`. A name is
    `dns:`, `uri:`, `email:`, `cn:`, or `sha256:` with the certificate's digest."""
    team: Name | None = None
    """One of `teams`, of the same tenant."""
    groups: list[GroupName] = Field(default_factory=list)
    """Groups that pools in `send_principal` receive."""
    routes: list[ModelName] = Field(default_factory=list)
    """Model names that the client may request. Empty: all."""
    may_restore: bool = True
    """False: the client's answers keep their tokens, and it never receives the original values."""
    is_admin: bool = False
    """Whether the client may use the gateway's admin surface, for its tenant and `admin_tenants`."""
    admin_tenants: list[Name | Literal["*"]] = Field(default_factory=list)
    """Further tenants of an operator; `*` for all. Only an operator of all tenants may reload, drain and resume."""
    is_monitor: bool = False
    """Whether metrics and the details of `/readyz` may be read."""
    listed_hits_per_hour: ListedHits | None = None
    """Listed names and numbers in the client's requests. Default: `gateway.access.listed_hits_per_hour`."""
    limits: CallerLimits = CallerLimits()
    """Limits of the client. Default: `quota.default_limits`."""


class Quota(SpecModel):
    """Limits that apply by default."""

    default_limits: CallerLimits = CallerLimits()
    """Limits of every client and person without limits of their own."""
    usage_days: Annotated[int, Field(ge=0, le=4000)] = 400
    """Days for which used tokens and cost are kept, by client, model, upstream and day, for the usage page. 0: they are
    not counted."""


class Tokens(SpecModel):
    """Form of tokens."""

    format_preserving: list[Literal["EMAIL", "IBAN", "PHONE", "CARD"]] = Field(default_factory=list)
    """Entity types that are replaced by a fictitious value of the same format if a JSON schema in the request requires
    that format."""


class Restore(SpecModel):
    """Places in an answer where tokens are replaced by their values."""

    link_hosts: Annotated[list[HostName], Field(max_length=100)] = Field(default_factory=list)
    """Hosts of the site. Tokens in https links to them are restored; tokens in all other links are not."""


class Gateway(SpecModel):
    """The gateway: receives requests of clients, and sends only tokenized text to clouds."""

    nodes: Annotated[list[Name], Field(min_length=1)]
    """Nodes that run the gateway. On a hybrid site: nodes without GPUs only."""
    min_serving: MinServing | None = None
    """Gateways that keep serving while nodes change: a count, or a percentage, rounded up. `0` permits downtime.
    Default: `rollout.min_serving`. At most one gateway changes at a time."""
    port: Port = 8443
    """Port for clients; always TLS."""
    admin: Admin | None = None
    """Listener for operators. Default: none."""
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    """Server processes on each node; more processes than CPU cores do not increase throughput."""
    routes: Annotated[list[Route], Field(min_length=1)]
    """Model names that clients may request."""
    clouds: list[Cloud] = Field(default_factory=list)
    """Clouds; on a hybrid site only."""
    routing: Routing = Routing()
    """Thresholds above which a server counts as full."""
    limits: Limits = Limits()
    """Limits of one request."""
    request_fields: Annotated[list[RequestFieldsRow], Field(max_length=100)] = Field(default_factory=list)
    """Changes of the built-in table of request fields: which ones pools and clouds receive."""
    policy: Policy = Field(default_factory=Policy)
    """Actions for identifiers in requests that could be sent to a cloud."""
    detect: Detect = Field(default_factory=Detect)
    """Site-specific detection, in addition to the built-in detection."""
    handoff: Handoff | None = None
    """Queue for human review of withheld answers. Default: none, and routes can only refuse such answers."""
    tracing: Tracing | None = None
    """Destination of request traces. Default: no traces."""
    tokens: Tokens = Field(default_factory=Tokens)
    """Form of tokens."""
    restore: Restore = Field(default_factory=Restore)
    """Places in an answer where tokens are restored."""
    clients: Annotated[list[Client], Field(min_length=1)]
    """Clients with an API key."""
    access: GatewayAccess = GatewayAccess()
    """Protection against guesses of credentials and of listed names."""
    client_ca_file: FilePath | None = None
    """CA of client certificates, on the controller, relative to site.yaml."""
    requires_client_certificate: bool = False
    """Whether every connection needs a certificate of `client_ca_file`, in addition to any other credential."""
    teams: list[Team] = Field(default_factory=list)
    """Groups of clients and people with common permissions and budgets."""
    identity_providers: list[IdentityProvider] = Field(default_factory=list)
    """OpenID Connect providers whose tokens the gateway accepts."""
    quota: Quota = Quota()
    """Limits that apply by default."""
    prices: Prices | None = None
    """Prices of tokens, for cost limits. sovctl ships no prices."""
    send_principal: list[Name] = Field(default_factory=list)
    """Pools that receive the caller's identity in a signed header, for RAG and tools."""
    vault: Vault = Field(default_factory=Vault)
    """Encrypted store of the values that tokens replace."""
    token_keys: Annotated[list[TokenKey], Field(min_length=1, max_length=16)] = Field(
        default_factory=lambda: [TokenKey()]
    )
    """Keys that sign tokens, the current one first. The others remain valid in conversations that began under them.
    `apply` creates missing keys."""
