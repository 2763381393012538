"""Access tokens of a Google service account: a signed assertion is exchanged for a bearer token (RFC 7523).

- A token is cached, and renewed five minutes before it expires. Concurrent requests wait for one exchange.
- If an exchange fails, the previous token is used until it expires. After that, no request is sent.
- The address of the exchange is `vertex.token_url` of the settings; the one in the key file is ignored.

Source: Google, "Using OAuth 2.0 for server to server applications" (read 2026-11).
"""

from __future__ import annotations

import asyncio
import math
import ssl
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import orjson

from sovctl.support.errors import InputError
from sovctl.support.secret_files import read_secret

from ...domain.errors import UpstreamFailed
from ...settings import VertexSettings
from ...telemetry import log
from ..breaker import Breaker
from ..proxy import Proxy
from ..server import Server

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_LIFETIME_S = 3600  # the longest that Google accepts
_RENEW_BEFORE_S = 300.0
_AGAIN_S = 5.0  # pause after a failed exchange
_TIMEOUT_S = 10.0
_MAX_ANSWER_BYTES = 64 << 10


class _Account(NamedTuple):
    email: str
    key: Any
    key_id: str | None

    def __repr__(self) -> str:
        return "_Account(...)"


class ServiceAccount:
    """Authorizes requests with the access token of a service account.

    Args:
        proxy: in front of the endpoint; None without one.
        clock: monotonic seconds.

    Raises:
        InputError: the key file or the CA file is unusable.
    """

    def __init__(
        self,
        settings: VertexSettings,
        *,
        connect_timeout_s: float,
        proxy: Proxy | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._account = read_account(settings.service_account_file)
        self._url = str(settings.token_url)
        self._clock = clock
        parts = urlsplit(self._url)
        tls = None
        if parts.scheme == "https":
            try:
                tls = ssl.create_default_context(cafile=settings.token_ca_file)
            except (OSError, ssl.SSLError) as error:
                raise InputError(f"certificate unusable: {type(error).__name__}", where="token_ca_file") from error
            tls.minimum_version = ssl.TLSVersion.TLSv1_2
        self._path = parts.path.lstrip("/")
        self._server = Server(
            f"{parts.scheme}://{parts.netloc}",
            tls=tls,
            headers={"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "sovctl-gateway"},
            breaker=Breaker(1, _AGAIN_S),
            connect_timeout_s=connect_timeout_s,
            proxy=proxy if tls is not None else None,
        )
        self._token = ""
        self._valid_until_s = -math.inf
        self._failed_at_s = -math.inf
        self._exchanging = asyncio.Lock()

    async def headers(self, *, authority: str, target: str, body: bytes) -> Mapping[str, str]:  # noqa: ARG002
        if self._clock() > self._valid_until_s - _RENEW_BEFORE_S:
            async with self._exchanging:
                now_s = self._clock()
                if now_s > self._valid_until_s - _RENEW_BEFORE_S and now_s - self._failed_at_s >= _AGAIN_S:
                    await self._renew()
        if self._clock() >= self._valid_until_s:
            raise UpstreamFailed("credentials")
        return {"authorization": f"Bearer {self._token}"}

    def rejected(self) -> None:
        self._valid_until_s = -math.inf

    async def _renew(self) -> None:
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                token, lifetime_s = await self._exchange()
        except (UpstreamFailed, TimeoutError) as error:
            self._failed_at_s = self._clock()
            cause = error.cause if isinstance(error, UpstreamFailed) else "timeout"
            log.event("cloud token not renewed", level=40, cause=cause)
            return
        self._token, self._valid_until_s = token, self._clock() + lifetime_s

    async def _exchange(self) -> tuple[str, float]:
        """Return a token and its lifetime in seconds.

        Raises:
            UpstreamFailed: the server gave none.
        """
        form = urlencode({"grant_type": _GRANT, "assertion": self._assertion()}).encode()
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        server = self._server
        connection = await server.post(
            self._path, form, timeout_s=_TIMEOUT_S, read_timeout_s=_TIMEOUT_S, headers=headers, may_resend=True
        )
        content = bytearray()
        try:
            while len(content) <= _MAX_ANSWER_BYTES and (piece := await connection.piece()):
                content += piece
        finally:
            server.give_back(connection)
        if connection.status != 200:
            raise UpstreamFailed(f"status-{connection.status}")
        try:
            said = orjson.loads(content)
        except orjson.JSONDecodeError:
            raise UpstreamFailed("protocol") from None
        match said:
            case {"access_token": str(token), "expires_in": int(lifetime_s)} if (
                token and token.isascii() and token.isprintable() and lifetime_s > 0
            ):
                return token, lifetime_s
        raise UpstreamFailed("protocol")

    def _assertion(self) -> str:
        import jwt  # imported on use: only gateways with such an upstream need it here

        now = int(time.time())
        claims = {
            "iss": self._account.email,
            "scope": _SCOPE,
            "aud": self._url,
            "iat": now,
            "exp": now + _LIFETIME_S,
        }
        headers = {"kid": self._account.key_id} if self._account.key_id is not None else None
        return jwt.encode(claims, self._account.key, algorithm="RS256", headers=headers)


def read_account(file: Path) -> _Account:
    """Read the JSON key of a service account.

    Raises:
        InputError: the file is absent, readable by others, or not such a key.
    """
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        match orjson.loads(read_secret(file)):
            case {"type": "service_account", "client_email": str(email), "private_key": str(pem)} as said:
                key = load_pem_private_key(pem.encode(), password=None)
                key_id = said.get("private_key_id")
                if isinstance(key, RSAPrivateKey):
                    return _Account(email, key, key_id if isinstance(key_id, str) else None)
    except (ValueError, TypeError):  # the message may repeat the content
        pass
    raise InputError("expected the JSON key of a service account with an RSA key, got another content", where=str(file))
