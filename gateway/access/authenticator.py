"""Authenticates requests: returns the principal of a credential.

- Keys, tokens and certificates are not stored, only their SHA-256.
- An invalid bearer credential is rejected even if the client certificate is valid.
- Changed files are read again within `access.reload_every_s`. An invalid file, or one whose digest the settings do not
  name, changes nothing, and is logged.
- An unknown credential is rejected.

    async with Authenticator(settings) as authenticator:
        principal = authenticator.known(key, peer) or await authenticator.identify(key, peer)
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sovctl.support.errors import InputError

from ..settings import GatewaySettings, IdentityProviderSettings, TeamSettings
from ..settings.access import FailureLimits
from ..telemetry import log
from .certificate import Peer
from .clients import Client, check_clients, load_all_clients
from .principal import Method, Principal, make_principal

if TYPE_CHECKING:  # oidc is imported only if a site uses tokens, because the import takes 0.1 s
    from .oidc import Issuer, VerifiedToken

_REMEMBERED_TOKENS = 8192  # about 8 MB; dropped ones are verified again


@dataclass(frozen=True, slots=True)
class _KnownKey:
    digest: bytes
    principal: Principal
    expires_at: float


@dataclass(frozen=True)
class ClientIndex:
    """All clients by key digest and by certificate name."""

    clients: tuple[Client, ...]
    by_key: dict[bytes, _KnownKey]
    by_certificate: dict[str, Principal]


def index_clients(clients: Sequence[Client], teams: Sequence[TeamSettings]) -> ClientIndex:
    """Return the index of clients that passed `check_clients`."""
    by_key: dict[bytes, _KnownKey] = {}
    by_certificate: dict[str, Principal] = {}
    for client in clients:
        for key in client.all_keys:
            digest = bytes.fromhex(key.sha256)
            expires_at = key.expires_at.timestamp() if key.expires_at else float("inf")
            by_key[digest] = _KnownKey(
                digest, principal_of(client, teams, method=Method.API_KEY, key_id=key.key_id), expires_at
            )
        for name in client.certificates:
            by_certificate[name] = principal_of(
                client, teams, method=Method.CERTIFICATE, key_id=sha256(name.encode()).hexdigest()[:12]
            )
    return ClientIndex(tuple(clients), by_key, by_certificate)


def principal_of(client: Client, teams: Sequence[TeamSettings], *, method: Method, key_id: str) -> Principal:
    """Return the principal of a client."""
    return make_principal(
        client.name,
        tenant=client.tenant,
        method=method,
        key_id=key_id,
        rights=client,
        team=next((team for team in teams if team.name == client.team), None),
        groups=client.groups,
        is_admin=client.is_admin,
        is_monitor=client.is_monitor,
        admin_tenants=client.admin_tenants,
    )


class Authenticator:
    """All principals. As an async context manager it reloads files and keys.

    Args:
        clock: seconds since 1970.

    Raises:
        InputError: a clients file is invalid, or the settings do not name its digest.
    """

    def __init__(self, settings: GatewaySettings, *, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._clock = clock
        access = settings.access
        self._issuers = _issuers(access.identity_providers, access.teams) if access.identity_providers else {}
        self._tokens: dict[bytes, VerifiedToken] = {}
        self._files = [settings.clients_file]
        self._files += [
            path for path in (access.local_clients_file, access.local_clients_sha256_file) if path is not None
        ]
        self._seen = self._look()
        self._index = self._read()
        self._is_stale = False
        if not self.clients and not self._issuers and settings.access.local_clients_file is None:
            raise InputError("no client is configured", where=str(settings.clients_file))
        self._task: asyncio.Task[None] | None = None

    @property
    def failure_limits(self) -> FailureLimits:
        """Limits of failed authentication."""
        return self._settings.access.failures

    @property
    def tenants(self) -> frozenset[str]:
        """Tenants of all clients, teams and grants."""
        access = self._settings.access
        grants = (grant.tenant for provider in access.identity_providers for grant in provider.grants)
        return frozenset({*grants, *(team.tenant for team in access.teams), *(each.tenant for each in self.clients)})

    @property
    def clients(self) -> tuple[Client, ...]:
        """All clients, in the order of the files."""
        return self._index.clients

    def known(self, credential: str | None, peer: Peer | None = None) -> Principal | None:
        """Return the principal if that needs no verification of a signature.

        Args:
            credential: the key or token of the request.
            peer: the certificate of the client.
        """
        now = self._clock()
        if peer is not None and now >= peer.not_after:
            peer = None
        if not credential:
            return self._by_certificate(peer) if peer is not None else None
        digest = sha256(credential.encode()).digest()
        known = self._index.by_key.get(digest)
        if known is not None:
            # The dict lookup compares digests of 256 bits, which a client cannot choose; this comparison is additional.
            return known.principal if hmac.compare_digest(known.digest, digest) and now < known.expires_at else None
        token = self._tokens.get(digest)
        return token.principal if token is not None and token.is_valid(peer, now) else None

    async def identify(self, credential: str | None, peer: Peer | None = None) -> Principal | None:
        """Return the principal as `known` does, and verify tokens. None if the credential is rejected."""
        if (principal := self.known(credential, peer)) is not None:
            return principal
        if not credential or not self._issuers:
            return None
        from .oidc import MAX_TOKEN_BYTES, TokenRefused, issuer_of

        if credential.count(".") != 2 or len(credential) > MAX_TOKEN_BYTES:
            return None
        issuer = self._issuers.get(issuer_of(credential) or "")
        if issuer is None:
            return None
        try:
            token = await self._verified(issuer, credential)
        except TokenRefused as error:
            log.event("token refused", level=30, issuer=issuer.settings.name, reason=str(error))
            return None
        while len(self._tokens) >= _REMEMBERED_TOKENS:
            del self._tokens[next(iter(self._tokens))]
        self._tokens[sha256(credential.encode()).digest()] = token
        if not token.is_valid(peer if peer is None or self._clock() < peer.not_after else None, self._clock()):
            log.event("token refused", level=30, issuer=issuer.settings.name, reason="bound-to-another")
            return None
        return token.principal

    def admin(self, name: str, key_id: str, method: Method) -> Principal | None:
        """Return the admin of an earlier login; None if the permission was withdrawn.

        A token is discarded after its verification, so the caller must limit how long such a login lasts.
        """
        if method is Method.TOKEN:
            now = self._clock()
            found = [token.principal for token in self._tokens.values() if token.holds(now)]
        elif method is Method.CERTIFICATE:
            found = list(self._index.by_certificate.values())
        else:
            now = self._clock()
            found = [key.principal for key in self._index.by_key.values() if now < key.expires_at]
        return next((each for each in found if (each.name, each.key_id, each.is_admin) == (name, key_id, True)), None)

    def reload(self) -> None:
        """Read the files again.

        Raises:
            InputError: one is invalid; the previous clients stay in force.
        """
        self._seen = self._look()
        self._is_stale = True
        self._index = self._read()
        self._is_stale = False

    def wrong(self) -> dict[str, str]:
        """Return the problems of files and issuers, for `/readyz`."""
        wrong = {
            f"oidc:{issuer.settings.name}": "no usable keys"
            for issuer in self._issuers.values()
            if not issuer.source.keys.keys
        }
        return {**wrong, "clients": "invalid file; the previous clients stay valid"} if self._is_stale else wrong

    async def __aenter__(self) -> Self:
        await asyncio.gather(*(issuer.source.refresh() for issuer in self._issuers.values()))
        self._task = asyncio.create_task(self._keep_fresh(), name="authenticator")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._task is not None
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _keep_fresh(self) -> None:
        while True:
            await asyncio.sleep(self._settings.access.reload_every_s)
            await self.refresh()

    def require_current(self) -> None:
        """Read changed files again.

        For the start of a worker, because the supervisor may have loaded the clients long before.

        Raises:
            InputError: the files are not those in force: one is invalid, or the settings do not name its digest.
        """
        if self._is_stale or self._look() != self._seen:
            self.reload()

    async def refresh(self) -> None:
        """Reload changed files, and refresh the keys of issuers when due."""
        if self._look() != self._seen:
            try:
                self.reload()
                log.event("clients reloaded", clients=len(self.clients))
            except InputError as error:
                log.event("clients reload failed", level=40, where=error.where, reason=error.message)
        due = [issuer.source.refresh() for issuer in self._issuers.values() if issuer.source.is_due]
        await asyncio.gather(*due)

    def _by_certificate(self, peer: Peer) -> Principal | None:
        return next((found for name in peer.names if (found := self._index.by_certificate.get(name))), None)

    async def _verified(self, issuer: Issuer, token: str) -> VerifiedToken:
        from .oidc import UnknownKey

        try:
            return issuer.verify(token)
        except UnknownKey:
            await issuer.source.ask_again()
            return issuer.verify(token)

    def _read(self) -> ClientIndex:
        teams = self._settings.access.teams
        clients = load_all_clients(self._settings)
        where = ", ".join(map(str, self._files[:2]))
        check_clients(clients, self._settings, where=where)
        return index_clients(clients, teams)

    def _look(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(_identity(path) for path in self._files)


def _issuers(issuers: Sequence[IdentityProviderSettings], teams: Sequence[TeamSettings]) -> dict[str, Issuer]:
    from .oidc import Issuer

    return {each.issuer: Issuer(each, teams) for each in issuers}


def bearer(authorization: str | None) -> str | None:
    """Return the key or token in an `Authorization` header."""
    scheme, _, credential = (authorization or "").partition(" ")
    return credential.strip() or None if scheme.lower() == "bearer" else None


def _identity(path: Path) -> tuple[int, int, int] | None:
    """Return values that change when a file is replaced or written."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_ctime_ns  # ctime also changes when the file becomes readable
