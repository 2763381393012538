"""`gateway.yaml` as typed values: what one gateway process needs to know.

`sovctl apply` renders the file from site.yaml. It holds paths and addresses, never a secret. Rules kept here: unknown
keys are errors, every problem is reported at once with its path, and nothing that would send raw text over an
unencrypted line is accepted. Needs only pydantic and PyYAML, so that the command line can read it anywhere.

    settings = load_settings(Path("/etc/sovctl/gateway.yaml"))
    settings.upstream("chat").base_urls
"""

from __future__ import annotations

import difflib
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    AnyHttpUrl,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from sovctl.compliance.canonical import digest
from sovctl.compliance.errors import InputError, Problem, SpecError
from sovctl.gateway.kinds import Kind

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,30}$")]
"""Lower-case letters, digits and hyphens, a letter first, at most 31 characters."""


class SettingsModel(BaseModel):
    """Base: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Listen(SettingsModel):
    """Where clients reach the gateway; always TLS."""

    host: str = "0.0.0.0"  # noqa: S104 - the perimeter decides who may reach it, node by node
    port: Annotated[int, Field(ge=1, le=65535)] = 8443
    certificate_file: Path
    key_file: Path


class VaultSettings(SettingsModel):
    """Where originals are kept, sealed, until their conversation expires."""

    path: Path
    """SQLite file; made when absent. Its folder must belong to the gateway alone."""
    kek_file: Path
    """Key that wraps the conversations' keys: 32 bytes, hex."""
    ttl_s: Annotated[int, Field(ge=60, le=31_536_000)] = 86_400
    """Seconds after its last use in which a conversation's tokens can be restored."""


class LedgerSettings(SettingsModel):
    """Where the audit records go."""

    directory: Path
    key_file: Path
    origin: Annotated[str, StringConstraints(pattern=r"^[!-*,-~]{1,100}$")]
    """Name of this log in its signed checkpoints; no spaces, no plus sign (C2SP signed-note)."""


class UpstreamKind(StrEnum):
    """What an upstream may see."""

    POOL = "pool"  # inside the perimeter: raw text
    CLOUD = "cloud"  # outside: tokens only

    @property
    def may_see_raw_text(self) -> bool:
        """True for a pool of the site's own."""
        return self is UpstreamKind.POOL


class UpstreamSettings(SettingsModel):
    """One pool of equal servers, or one cloud."""

    name: Name
    kind: UpstreamKind
    base_urls: Annotated[list[AnyHttpUrl], Field(min_length=1)]
    """OpenAI-compatible, ending in /v1. Plain http only to this machine itself."""
    model: Annotated[str, Field(min_length=1, max_length=200)]
    """The model name the upstream knows."""
    ca_file: Path | None = None
    """Certificate authority that signs the upstream; the system's when absent."""
    certificate_file: Path | None = None
    """Our client certificate (mTLS), with `key_file`."""
    key_file: Path | None = None
    api_key_file: Path | None = None
    max_model_len: Annotated[int, Field(ge=16)] = 8192
    """Tokens of prompt and answer together."""
    jurisdiction: Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")] | None = None
    connect_timeout_s: Annotated[float, Field(gt=0, le=60)] = 3.0
    """Also bounds the TLS handshake. A pool one hop away answers in milliseconds; 3 s covers two lost SYNs."""
    first_byte_timeout_s: Annotated[float, Field(gt=0, le=3600)] = 60.0
    """Until a streamed answer begins. A full queue at `max_num_queued_reqs` may hold a request for a while."""
    answer_timeout_s: Annotated[float, Field(gt=0, le=7200)] = 600.0
    """Until an answer that is not streamed is whole; the openai client waits as long (2.x, read 2026-11)."""
    read_timeout_s: Annotated[float, Field(gt=0, le=3600)] = 30.0
    """Between two pieces of an answer that has begun."""
    down_s: Annotated[float, Field(ge=0, le=600)] = 10.0
    """How long it is asked last after three failures in a row: long enough to spare clients the wait, short enough
    for a restart to be noticed."""

    @field_validator("base_urls")
    @classmethod
    def _encrypted_or_local(cls, urls: list[AnyHttpUrl]) -> list[AnyHttpUrl]:
        for url in urls:
            if url.scheme == "http" and not _is_loopback(url.host or ""):
                raise ValueError("expected https, got http to another machine")
        return urls

    @model_validator(mode="after")
    def _certificate_with_key(self) -> UpstreamSettings:
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError("expected certificate_file and key_file together, got only one of them")
        return self


class RouteSettings(SettingsModel):
    """What a client's model name means. Policy may only narrow it."""

    model: Annotated[str, Field(min_length=1, max_length=200)]
    pool: Name
    """Where raw text may be served."""
    cloud: Name | None = None
    """Where tokenized text may be served."""
    prefer: Literal["pool", "cloud"] = "pool"


class Action(StrEnum):
    """What policy does with one kind of identifier when a request could leave."""

    TOKENIZE = "tokenize"
    ON_PREM = "on-prem"
    BLOCK = "block"
    ALLOW = "allow"


class PolicySettings(SettingsModel):
    """What may leave, kind by kind."""

    default: Action = Action.TOKENIZE
    """For every kind that is not listed."""
    entities: dict[str, Action] = Field(default_factory=dict)
    name_languages: list[Annotated[str, StringConstraints(pattern=r"^[a-z]{2}$")]] = Field(default_factory=list)
    """Languages in which this site accepts the gateway's finding of names. Anything else stays on-prem."""

    @field_validator("entities")
    @classmethod
    def _known_kinds(cls, entities: dict[str, Action]) -> dict[str, Action]:
        known = [kind.value for kind in Kind]
        for name in entities:
            if name not in known:
                near = difflib.get_close_matches(name.upper(), known, n=1)
                raise ValueError(f"expected one of {', '.join(known)}, got {name}" + (f" ({near[0]}?)" if near else ""))
        return entities

    def action_for(self, kind: Kind) -> Action:
        """What to do with `kind`."""
        return self.entities.get(kind.value, self.default)

    def digest(self) -> str:
        """SHA-256 of the policy, for the audit record."""
        return digest(self.model_dump(mode="json"))


class DetectSettings(SettingsModel):
    """What the detector looks for beyond what is the same everywhere."""

    phone_regions: list[Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")]] = Field(
        default_factory=lambda: ["AE", "DE", "FR", "GB", "IN", "US"]
    )
    """ISO 3166-1 countries whose national phone formats are recognized; numbers that begin with + always are.
    Each region costs about 0.02 ms per number in the text (measured 2026-11, one core)."""


class Limits(SettingsModel):
    """Ceilings, so that one request can't take the gateway down."""

    max_body_bytes: Annotated[int, Field(ge=1024, le=1 << 28)] = 8 << 20
    """Larger requests are refused; chosen above the longest prompt of a 1 M token context in plain English."""
    max_depth: Annotated[int, Field(ge=8, le=200)] = 64
    """JSON nesting; corp-llm-gateway refuses past the same depth (read 2026-11)."""
    max_event_bytes: Annotated[int, Field(ge=1024, le=1 << 26)] = 1 << 20
    """One server-sent event of an upstream."""
    max_answer_bytes: Annotated[int, Field(ge=1024, le=1 << 28)] = 32 << 20
    """An answer that is not streamed."""
    drain_s: Annotated[int, Field(ge=1, le=600)] = 30
    """How long running answers may finish after SIGTERM."""


class GatewaySettings(SettingsModel):
    """A whole gateway.yaml."""

    site: Name
    listen: Listen
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    clients_file: Path
    """JSON list of clients; their keys only as SHA-256."""
    token_key_file: Path
    """Key of the tokens' MACs: 32 bytes, hex."""
    vault: VaultSettings
    ledger: LedgerSettings
    upstreams: Annotated[list[UpstreamSettings], Field(min_length=1)]
    routes: Annotated[list[RouteSettings], Field(min_length=1)]
    policy: PolicySettings = Field(default_factory=PolicySettings)
    detect: DetectSettings = Field(default_factory=DetectSettings)
    limits: Limits = Field(default_factory=Limits)

    @field_validator("workers")
    @classmethod
    def _one_process(cls, workers: int) -> int:
        if workers != 1:
            raise ValueError(f"expected 1, got {workers}: vault and ledger have one writer each")
        return workers

    @model_validator(mode="after")
    def _names_meet(self) -> GatewaySettings:
        kinds = {upstream.name: upstream.kind for upstream in self.upstreams}
        if len(kinds) != len(self.upstreams):
            raise ValueError("upstreams: expected names used once, got one twice")
        if len({route.model for route in self.routes}) != len(self.routes):
            raise ValueError("routes: expected each model once, got one twice")
        for index, route in enumerate(self.routes):
            wanted = [("pool", route.pool, UpstreamKind.POOL)]
            if route.cloud is not None:
                wanted.append(("cloud", route.cloud, UpstreamKind.CLOUD))
            for field, name, kind in wanted:
                if kinds.get(name) is not kind:
                    got = kinds[name].value if name in kinds else "nothing of that name"
                    raise ValueError(f"routes[{index}].{field}: expected a {kind.value} named {name}, got {got}")
            if route.prefer == "cloud" and route.cloud is None:
                raise ValueError(f"routes[{index}].prefer: expected pool, got cloud, but the route names no cloud")
        return self

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


def load_settings(path: Path) -> GatewaySettings:
    """Read and check `path`.

    Raises:
        InputError: the file can't be read, or is not YAML.
        SpecError: everything wrong in it, each problem with its place.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise InputError(f"expected a readable file, got: {reason}", where=str(path)) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" in line {mark.line + 1}" if mark else ""
        raise InputError(f"expected YAML, got a syntax error{line}", where=str(path)) from error
    if not isinstance(content, dict):
        raise InputError(f"expected a mapping, got {type(content).__name__}", where=str(path))
    try:
        return GatewaySettings.model_validate(content)
    except ValidationError as error:
        raise SpecError([_problem(path, each) for each in error.errors(include_url=False)]) from error


def _problem(path: Path, error: Any) -> Problem:
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"]).lstrip(".")
    message = str(error["msg"]).removeprefix("Value error, ")
    hint = "remove the key, or correct its name" if error["type"] == "extra_forbidden" else ""
    return Problem(message[:1].lower() + message[1:], where=f"{path}: {place}" if place else str(path), hint=hint)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
