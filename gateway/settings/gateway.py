"""A whole gateway.yaml, and how it is read: every problem at once, each with its path."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

import yaml
from pydantic import BaseModel, Field, ValidationError, model_validator

from sovctl.support.canonical_json import digest
from sovctl.support.errors import InputError, Problem, SpecError
from sovctl.support.stall_timeout import DISK_TIMEOUT_S

from .access import AccessSettings
from .admin import AdminListen
from .detect import DetectSettings
from .handoff import HandoffSettings
from .ledger import LedgerSettings
from .limits import Limits
from .listen import Listen
from .model import Name, SettingsModel, in_words
from .policy import PolicySettings, RouteSettings
from .quota import QuotaSettings
from .references import CrossedSettings, problems
from .restore import RestoreSettings
from .routing import RoutingSettings
from .tokens import TokenSettings
from .tracing import TracingSettings
from .upstream import UpstreamSettings
from .vault import VaultSettings


class _KeyTwice(InputError):
    """A key stands twice, of which YAML would quietly take the last."""


class _OnceLoader(yaml.SafeLoader):
    """Reads plain values, and every key once."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        lines: dict[str, int] = {}
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            line = key.start_mark.line + 1
            if key.value in lines:
                raise _KeyTwice(f"expected every key once, got `{key.value}` on lines {lines[key.value]} and {line}")
            lines[key.value] = line
        return super().construct_mapping(node, deep)


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
    def _parts_meet(self) -> GatewaySettings:
        if found := problems(self):
            raise CrossedSettings(found)
        return self

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

    @model_validator(mode="after")
    def _languages_are_covered(self) -> GatewaySettings:
        covered = self.detect.name_languages
        if strangers := sorted(set(self.policy.name_languages) - covered):
            raise ValueError(
                f"policy.name_languages: expected languages in which names can be found ({', '.join(sorted(covered))}),"
                f" got {', '.join(strangers)}; what is in another language stays on-prem"
            )
        return self

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


def load_settings(path: Path) -> GatewaySettings:
    """Read and check `path`.

    Raises:
        InputError: the file can't be read, or is not YAML.
        SpecError: everything wrong in it, each problem with its place.
    """
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _OnceLoader)  # noqa: S506 - a safe loader
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        hint = (
            "name yours with --config; `sovctl gateway init` makes one" if isinstance(error, FileNotFoundError) else ""
        )
        raise InputError(f"expected a readable file, got: {reason}", where=str(path), hint=hint) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" in line {mark.line + 1}" if mark else ""
        raise InputError(f"expected YAML, got a syntax error{line}", where=str(path)) from error
    except (ValueError, RecursionError):  # a day that is none, a number of a tag, lists in lists without end
        hint = "put texts that look like days or numbers in quotes"
        raise InputError("expected YAML of plain values, got others", where=str(path), hint=hint) from None
    except _KeyTwice as error:
        raise InputError(error.message, where=str(path), hint="remove one of the two") from None
    if not isinstance(content, dict):
        got = "an empty file" if content is None else f"a {type(content).__name__}"
        raise InputError(f"expected keys with their values, got {got}", where=str(path))
    return check_settings(content, path)


def check_settings(content: dict[str, Any], path: Path) -> GatewaySettings:
    """The settings that stand, or are to stand, in `path`.

    Raises:
        SpecError: everything wrong in them, each problem with its place.
    """
    try:
        return GatewaySettings.model_validate(content)
    except ValidationError as error:
        raise SpecError([each for one in error.errors(include_url=False) for each in _problems(path, one)]) from error


def _problems(path: Path, error: Any) -> list[Problem]:
    crossed = error.get("ctx", {}).get("error")
    if isinstance(crossed, CrossedSettings):
        return [Problem(each.message, where=f"{path}: {each.where}", hint=each.hint) for each in crossed.problems]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"]).lstrip(".")
    message, hint = in_words(error), ""
    if error["type"] == "extra_forbidden":
        known = _keys_at(error["loc"][:-1])
        near = difflib.get_close_matches(str(error["loc"][-1]), known, n=1)
        message, hint = "expected a known key, got another", f"did you mean {near[0]}?" if near else "remove it"
    return [Problem(message, where=f"{path}: {place}" if place else str(path), hint=hint)]


def _keys_at(loc: Sequence[str | int]) -> list[str]:
    """The keys that settings know at this place."""
    found: list[type[BaseModel]] = [GatewaySettings]
    for name in (part for part in loc if isinstance(part, str)):
        annotations = [model.model_fields[name].annotation for model in found if name in model.model_fields]
        if annotations:  # else the key of a mapping
            found = [each for annotation in annotations for each in _models_in(annotation)]
    return [name for model in found for name in model.model_fields]


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [each for inner in get_args(annotation) for each in _models_in(inner)]
