"""Who is calling? API keys, of which only SHA-256 digests are kept.

The keys are random (`sovctl` makes them with 256 bits), so a plain digest can't be guessed back. Every key on file is
compared, in constant time, whatever the first ones gave.

    clients = load_clients(Path("clients.json"))
    client = clients.authenticate("Bearer 3q2-7wAA...")     # or None
    client.may_use("assistant")
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from sovctl.compliance.errors import InputError
from sovctl.gateway.settings import Name


class Client(BaseModel):
    """Who may call, as the clients file has it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    tenant: Name
    key_sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$"), Field(repr=False)]
    routes: list[str] = Field(default_factory=list)

    def may_use(self, model: str) -> bool:
        """True when this client may ask for `model`; an empty list means all."""
        return not self.routes or model in self.routes


@dataclass(frozen=True)
class Clients:
    """All clients."""

    clients: Sequence[Client]
    _digests: tuple[bytes, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_digests", tuple(bytes.fromhex(client.key_sha256) for client in self.clients))

    def authenticate(self, authorization: str | None) -> Client | None:
        """The client whose key stands in an `Authorization` header; None when there is none."""
        scheme, _, key = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            return None
        digest = hashlib.sha256(key.strip().encode()).digest()
        matches = [hmac.compare_digest(digest, known) for known in self._digests]
        return self.clients[matches.index(True)] if any(matches) else None


def load_clients(path: Path) -> Clients:
    """Read the clients file.

    Raises:
        InputError: not readable, not a list of clients, or a name or key twice.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"expected a readable file, got: {error.strerror}", where=str(path)) from error
    except ValueError as error:
        raise InputError("expected a JSON list of clients, got something else", where=str(path)) from error
    try:
        clients = TypeAdapter(list[Client]).validate_python(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(
            f"expected clients with name, tenant and key_sha256, got a problem at {place}: {first['msg']}",
            where=str(path),
        ) from error
    for what, values in (("name", [c.name for c in clients]), ("key", [c.key_sha256 for c in clients])):
        if len(set(values)) != len(values):
            raise InputError(f"expected every {what} once, got one twice", where=str(path))
    if not clients:
        raise InputError("expected at least one client, got an empty list", where=str(path))
    return Clients(clients)
