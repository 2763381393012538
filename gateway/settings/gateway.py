"""The model of a whole gateway.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from sovctl.support.canonical_json import digest
from sovctl.support.stall_timeout import DISK_TIMEOUT_S

from .access import AccessSettings
from .admin import AdminListen
from .answers.handoff import HandoffSettings
from .answers.restore import RestoreSettings
from .base.model import Name, SettingsModel
from .base.surface import SurfaceName
from .detection.detect import DetectSettings
from .ledger import LedgerSettings
from .listen import Listen
from .policy import PolicySettings, RouteSettings
from .retrieval import RetrievalServiceSettings
from .tokens import TokenSettings
from .tracing import TracingSettings
from .traffic.limits import Limits
from .traffic.quota import QuotaSettings
from .traffic.request_fields import RequestFieldsRow
from .traffic.routing import RoutingSettings
from .traffic.upstream import UpstreamSettings
from .vault import VaultSettings

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


def _one_or_more(value: object) -> object:
    return [value] if isinstance(value, str) else value


class TokenKeySettings(SettingsModel):
    """One version of the HMAC key of tokens."""

    version: Annotated[int, Field(ge=1, le=2_147_483_647)]
    """Version number; never reused for another key, even after the key is removed."""
    file: Path
    """Key file: 32 bytes, hex, mode 0600."""


class GatewaySettings(SettingsModel):
    """The whole gateway.yaml."""

    site: Name
    listen: Listen
    admin: AdminListen | None = None
    """Listener for operators. Default: none."""
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    """Server processes; more processes than CPU cores do not increase throughput."""
    clients_file: Path
    """JSON list of clients, with SHA-256 digests of their keys."""
    clients_sha256: Annotated[list[Sha256], BeforeValidator(_one_or_more), Field(max_length=2)] = Field(
        default_factory=list
    )
    """SHA-256 of `clients_file`, or of the file before and after a change of keys. Another file gives no access.
    `sovctl apply`, `gateway init` and `gateway keys` write it. Default: none, and the gateway does not start."""
    access: AccessSettings = Field(default_factory=AccessSettings)
    quota: QuotaSettings = Field(default_factory=QuotaSettings)
    token_key_file: Path | None = None
    """HMAC key of tokens: 32 bytes, hex. Short form of `token_keys` with version 1."""
    token_keys: Annotated[list[TokenKeySettings], Field(max_length=16)] = Field(default_factory=list)
    """HMAC keys of tokens, the current one first. The others remain valid in conversations that began under them."""
    vault: VaultSettings
    ledger: LedgerSettings
    disk_timeout_s: Annotated[float, Field(gt=0, le=300)] = DISK_TIMEOUT_S
    """Seconds without a response of a disk or database after which ledger, vault or quota count as unavailable."""
    upstreams: Annotated[list[UpstreamSettings], Field(min_length=1)]
    routes: Annotated[list[RouteSettings], Field(min_length=1)]
    request_fields: Annotated[list[RequestFieldsRow], Field(max_length=100)] = Field(default_factory=list)
    """Changes of the built-in table of request fields. The last row that names a field applies."""
    policy: PolicySettings = Field(default_factory=PolicySettings)
    detect: DetectSettings = Field(default_factory=DetectSettings)
    tokens: TokenSettings = Field(default_factory=TokenSettings)
    restore: RestoreSettings = Field(default_factory=RestoreSettings)
    handoff: HandoffSettings | None = None
    """Queue of answers for human review. Default: none, and answers cannot be handed off."""
    routing: RoutingSettings = Field(default_factory=RoutingSettings)
    retrieval: RetrievalServiceSettings | None = None
    """Retrieval service, for `/v1/vector_stores/COLLECTION/search`. Default: none, and the path is unknown."""
    tracing: TracingSettings | None = None
    """Destination of traces. Default: no traces."""
    limits: Limits = Field(default_factory=Limits)

    @model_validator(mode="after")
    def _check_token_keys(self) -> GatewaySettings:
        if (self.token_key_file is None) == (not self.token_keys):
            raise ValueError("expected either token_key_file or token_keys, got both or neither")
        if len({key.version for key in self.token_keys}) != len(self.token_keys):
            raise ValueError("token_keys: versions must be unique")
        return self

    @property
    def all_token_keys(self) -> list[TokenKeySettings]:
        """Token keys, the current one first."""
        if self.token_key_file is not None:
            return [TokenKeySettings(version=1, file=self.token_key_file)]
        return self.token_keys

    @property
    def handoff_path(self) -> Path | None:
        """SQLite file of the hand-off queue; None if it is in the vault's PostgreSQL database."""
        if self.handoff is not None and self.handoff.path is not None:
            return self.handoff.path
        return self.vault.path.with_name("handoffs.db") if self.vault.path is not None else None

    @property
    def has_realtime(self) -> bool:
        """Whether an upstream serves realtime transcription; without one, no WebSocket is accepted."""
        return any(SurfaceName.REALTIME in upstream.surfaces for upstream in self.upstreams)

    def digest(self) -> str:
        """Return the SHA-256 of the settings, for the audit record of a change."""
        return digest(self.model_dump(mode="json"))

    def upstream(self, name: str) -> UpstreamSettings:
        """Return the upstream with this name.

        Raises:
            KeyError: the upstream does not exist.
        """
        for upstream in self.upstreams:
            if upstream.name == name:
                return upstream
        raise KeyError(name)

    def route(self, model: str) -> RouteSettings | None:
        """Return the route of a model name; None if it does not exist."""
        return next((route for route in self.routes if route.model == model), None)

    def reachable(self, route: RouteSettings) -> tuple[str, ...]:
        """Return the names of all upstreams that may serve requests of a route, those of its fallback routes last."""
        fallbacks = [self.route(model) for model in route.fallback_routes]
        names = [*route.upstreams, *(name for each in fallbacks if each is not None for name in each.upstreams)]
        return tuple(dict.fromkeys(names))
