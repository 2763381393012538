"""The clients files: clients with API keys or certificates. Keys are stored as SHA-256 only.

A key is 256 random bits, so its plain digest cannot be inverted. There may be two files: `clients_file`, which
`sovctl apply` generates from site.yaml, and `access.local_clients_file`, which `sovctl gateway keys` manages. Format of
both:

    [{"name": "branch", "tenant": "retail", "team": "cards", "routes": ["assistant"],
      "keys": [{"sha256": "9f86...", "expires_at": "2027-11-21T00:00:00Z"}], "certificates": ["cn:branch"]}]
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

from pydantic import AwareDatetime, Field, StringConstraints, TypeAdapter, ValidationError

from sovctl.support.errors import InputError

from ..settings import GatewaySettings, Name, SettingsModel
from ..settings.access import OperatorRights, Rights, Text
from ..settings.base.model import in_words
from .pins import pinned_local_clients, require_pinned

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
CertificateName = Annotated[str, StringConstraints(pattern=r"^(dns|uri|email|cn|sha256):[!-~][ -~]{0,254}$")]
"""A name in a certificate's subjectAltName (`dns:`, `uri:`, `email:`), its common name (`cn:`), or the SHA-256 of the
whole certificate in hex (`sha256:`)."""


class Key(SettingsModel):
    """One API key of a client."""

    sha256: Sha256 = Field(repr=False)
    created_at: AwareDatetime | None = None
    expires_at: AwareDatetime | None = None
    """None: the key does not expire."""

    @property
    def key_id(self) -> str:
        """Identifier of the key in lists and audit records; not a credential."""
        return self.sha256[:12]

    def is_valid(self, now: datetime) -> bool:
        """Return whether the key has not expired."""
        return self.expires_at is None or now < self.expires_at


class Client(Rights, OperatorRights):
    """One client."""

    name: Name
    tenant: Name
    team: Name | None = None
    groups: list[Text] = Field(default_factory=list)
    """Groups in `x-sovctl-principal`."""
    keys: list[Key] = Field(default_factory=list)
    """Several during a rotation."""
    key_sha256: Sha256 | None = Field(default=None, repr=False)
    """Alternative to `keys`: one key without expiry."""
    certificates: list[CertificateName] = Field(default_factory=list)

    @property
    def all_keys(self) -> list[Key]:
        """All keys, in the order of the file."""
        return self.keys if self.key_sha256 is None else [Key(sha256=self.key_sha256), *self.keys]


_FILE = TypeAdapter(list[Client])


def load_clients(path: Path, *, may_be_absent: bool = False, digests: Sequence[str] | None = None) -> list[Client]:
    """Load the clients of a file.

    Args:
        digests: SHA-256 of the permitted files; None to permit any, for a list that gives no access.

    Raises:
        InputError: unreadable, not one of `digests`, or not a list of clients; lists every problem, without values of
            the file.
    """
    try:
        raw = path.read_bytes()
        if digests is not None:
            require_pinned(raw, digests, where=str(path))
        content = json.loads(raw.decode("utf-8"))
    except FileNotFoundError as error:
        if may_be_absent:
            return []
        raise InputError(f"unreadable: {error.strerror}", where=str(path)) from error
    except OSError as error:
        raise InputError(f"unreadable: {error.strerror}", where=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise InputError("not a JSON list of clients", where=str(path)) from error
    try:
        return _FILE.validate_python(content)
    except ValidationError as error:
        found = [
            f"{'.'.join(map(str, each['loc'])) or 'the file'}: {in_words(each)}"
            for each in error.errors(include_url=False, include_input=False)
        ]
        raise InputError(f"invalid clients: {'; '.join(found)}", where=str(path)) from error


def load_all_clients(settings: GatewaySettings) -> list[Client]:
    """Load the clients of both files, if the settings name their digests.

    Raises:
        InputError: see `load_clients`.
    """
    clients = load_clients(settings.clients_file, digests=settings.clients_sha256)
    if settings.access.local_clients_file is not None:
        local = settings.access.local_clients_file
        clients += load_clients(local, may_be_absent=True, digests=pinned_local_clients(settings))
    return clients


def dump_clients(clients: Sequence[Client]) -> str:
    """Return the text of a clients file."""
    return _FILE.dump_json(list(clients), indent=1, exclude_defaults=True).decode() + "\n"


def check_clients(clients: Sequence[Client], settings: GatewaySettings, *, where: str) -> None:
    """Check that names, keys and certificates are unique, teams exist, and limits are enforceable.

    Raises:
        InputError: lists every problem.
    """
    problems = [f"expected every {what} once, got {got} twice" for what, got in _twice(clients)]
    tenants = {team.name: team.tenant for team in settings.access.teams}
    for client in clients:
        if client.team is not None and tenants.get(client.team) != client.tenant:
            got = f"one of {tenants[client.team]}" if client.team in tenants else "none of that name"
            problems.append(f"client {client.name}: expected a team of tenant {client.tenant}, got {got}")
        if not client.all_keys and not client.certificates:
            problems.append(f"client {client.name}: has neither a key nor a certificate")
        if problem := settings.quota.problem_with(client.limits, has_database=settings.vault.postgresql is not None):
            problems.append(f"client {client.name}: {problem}")
    if problems:
        raise InputError("; ".join(problems), where=where)


def _twice(clients: Sequence[Client]) -> Iterable[tuple[str, str]]:
    for what, values in (
        ("name", [client.name for client in clients]),
        ("key", [key.key_id for client in clients for key in client.all_keys]),
        ("certificate", [name for client in clients for name in client.certificates]),
    ):
        yield from ((what, value) for value, times in Counter(values).items() if times > 1)
