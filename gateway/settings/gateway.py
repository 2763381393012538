"""The model of a whole gateway.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from sovctl.support.canonical_json import digest
from sovctl.support.stall_timeout import DISK_TIMEOUT_S

from .access import AccessSettings
from .admin import AdminListen
from .detect import DetectSettings
from .handoff import HandoffSettings
from .ledger import LedgerSettings
from .limits import Limits
from .listen import Listen
from .model import Name, SettingsModel
from .policy import PolicySettings, RouteSettings
from .quota import QuotaSettings
from .restore import RestoreSettings
from .routing import RoutingSettings
from .tokens import TokenSettings
from .tracing import TracingSettings
from .upstream import UpstreamSettings
from .vault import VaultSettings


class TokenKeySettings(SettingsModel):
    """One version of the key of the tokens' MACs."""

    version: Annotated[int, Field(ge=1, le=2_147_483_647)]
    """Never that of another key, not even of one that is gone."""
    file: Path
    """32 bytes, hex; only its owner may read it."""


class GatewaySettings(SettingsModel):
    """A whole gateway.yaml."""

    site: Name
    listen: Listen
    admin: AdminListen | None = None
    """The operators' own listener; there is none when absent."""
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    """Processes that serve; one per core at most pays."""
    clients_file: Path
    """JSON list of clients; their keys only as SHA-256."""
    access: AccessSettings = Field(default_factory=AccessSettings)
    quota: QuotaSettings = Field(default_factory=QuotaSettings)
    token_key_file: Path | None = None
    """Key of the tokens' MACs: 32 bytes, hex. Short for `token_keys` with version 1."""
    token_keys: Annotated[list[TokenKeySettings], Field(max_length=16)] = Field(default_factory=list)
    """The first one makes tokens; the others go on in conversations that began under them."""
    vault: VaultSettings
    ledger: LedgerSettings
    disk_timeout_s: Annotated[float, Field(gt=0, le=300)] = DISK_TIMEOUT_S
    """After this ledger, vault or limits count as down when their disk or database says nothing, until it answers."""
    upstreams: Annotated[list[UpstreamSettings], Field(min_length=1)]
    routes: Annotated[list[RouteSettings], Field(min_length=1)]
    policy: PolicySettings = Field(default_factory=PolicySettings)
    detect: DetectSettings = Field(default_factory=DetectSettings)
    tokens: TokenSettings = Field(default_factory=TokenSettings)
    restore: RestoreSettings = Field(default_factory=RestoreSettings)
    handoff: HandoffSettings | None = None
    """The queue of answers that wait for a person; nothing is handed over without it."""
    routing: RoutingSettings = Field(default_factory=RoutingSettings)
    tracing: TracingSettings | None = None
    """Where traces go; there are none when absent."""
    limits: Limits = Field(default_factory=Limits)

    @model_validator(mode="after")
    def _one_token_key_a_version(self) -> GatewaySettings:
        if (self.token_key_file is None) == (not self.token_keys):
            raise ValueError("expected either token_key_file or token_keys, got both or neither")
        if len({key.version for key in self.token_keys}) != len(self.token_keys):
            raise ValueError("token_keys: expected each version once, got one twice")
        return self

    @property
    def all_token_keys(self) -> list[TokenKeySettings]:
        """The token keys, the current one first."""
        if self.token_key_file is not None:
            return [TokenKeySettings(version=1, file=self.token_key_file)]
        return self.token_keys

    @property
    def handoff_path(self) -> Path | None:
        """File of the queue of hand-offs; None where it is in PostgreSQL, as the vault."""
        if self.handoff is not None and self.handoff.path is not None:
            return self.handoff.path
        return self.vault.path.with_name("handoffs.db") if self.vault.path is not None else None

    def digest(self) -> str:
        """SHA-256 of everything, for the audit record of a change."""
        return digest(self.model_dump(mode="json"))

    def upstream(self, name: str) -> UpstreamSettings:
        """The upstream of that name.

        Raises:
            KeyError: there is none.
        """
        for upstream in self.upstreams:
            if upstream.name == name:
                return upstream
        raise KeyError(name)

    def route(self, model: str) -> RouteSettings | None:
        """The route for a client's model name."""
        return next((route for route in self.routes if route.model == model), None)
