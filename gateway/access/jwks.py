"""Public keys of an identity provider (RFC 7517), from a file or over https, refreshed regularly.

- Only asymmetric signature keys are accepted (not `oct`, and no small RSA keys), each for the algorithms of its key
  type.
- If the provider does not answer, the last keys stay valid for `max_stale_s`; after that no key is valid.

    source = JwksSource(issuer)
    await source.refresh()
    source.keys.find("key-2026", "RS256")
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

import orjson
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt import PyJWK
from jwt.exceptions import PyJWTError

from ..settings import IdentityProviderSettings
from ..telemetry import log

_MAX_BYTES = 1 << 20  # a large provider publishes a few kilobytes
_MIN_RSA_BITS = 2048  # NIST SP 800-131A r2, table 2
_TIMEOUT_S = 5.0  # a server of the site's own network
_ASK_AGAIN_S = 10.0  # limits requests for unknown `kid` values to one in ten seconds
_CURVES = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
_RSA = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})

PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey


class BadJwks(Exception):
    """Not a valid key set. Its text is a fixed word."""


@dataclass(frozen=True, slots=True)
class IssuerKey:
    """One public key."""

    kid: str | None
    algorithms: frozenset[str]
    key: PublicKey
    fingerprint: bytes = b""
    """SHA-256 of the public key, which identifies it in later key sets."""


@dataclass(frozen=True, slots=True)
class KeySet:
    """Keys of one issuer."""

    keys: tuple[IssuerKey, ...] = ()

    def find(self, kid: str | None, algorithm: str) -> IssuerKey | None:
        """Return the key of a token; without a `kid` only if a single key fits."""
        fitting = [key for key in self.keys if algorithm in key.algorithms and (kid is None or key.kid == kid)]
        return fitting[0] if len(fitting) == 1 else None


def parse_jwks(content: bytes) -> KeySet:
    """Return the usable signature keys of a JWK set.

    Raises:
        BadJwks: it is invalid, or contains no usable key.
    """
    try:
        entries = orjson.loads(content)["keys"]
        found = tuple(key for key in map(_key, entries) if key is not None)
    except (ValueError, KeyError, TypeError):
        raise BadJwks("no-jwks") from None
    if not found:
        raise BadJwks("no-usable-key")
    return KeySet(found)


def _key(entry: object) -> IssuerKey | None:
    if not isinstance(entry, dict):
        return None
    if entry.get("kty") not in ("RSA", "EC", "OKP") or entry.get("use", "sig") != "sig":
        return None
    try:
        key = PyJWK(entry).key
    except (PyJWTError, ValueError, TypeError):
        return None
    match key:
        case rsa.RSAPublicKey() if key.key_size >= _MIN_RSA_BITS:
            algorithms = _RSA
        case ec.EllipticCurvePublicKey() if key.curve.name in _CURVES:
            algorithms = frozenset({_CURVES[key.curve.name]})
        case ed25519.Ed25519PublicKey():
            algorithms = frozenset({"EdDSA"})
        case _:
            return None
    if (named := entry.get("alg")) is not None:
        algorithms &= {named} if isinstance(named, str) else set()
    kid = entry.get("kid")
    content = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return IssuerKey(kid if isinstance(kid, str) else None, algorithms, key, sha256(content).digest())


class JwksSource:
    """Source of an issuer's keys.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, settings: IdentityProviderSettings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._keys = KeySet()
        self._good_at = -float("inf")
        self._asked_at = -float("inf")
        self._file: tuple[int, int, int] | None = None
        self._asking = asyncio.Lock()

    @property
    def keys(self) -> KeySet:
        """The currently valid keys; empty if they are too old."""
        return self._keys if self._clock() - self._good_at <= self._settings.max_stale_s else KeySet()

    @property
    def is_due(self) -> bool:
        """A refresh is due: the interval is over, or the file changed."""
        return self._clock() - self._asked_at >= self._settings.refresh_s or self._look() != self._file

    async def ask_again(self) -> None:
        """Refresh for a token with an unknown `kid`, because the provider may have a new key."""
        async with self._asking:  # one refresh serves all waiting callers
            if self._clock() - self._asked_at >= _ASK_AGAIN_S:
                await self._ask()

    async def refresh(self) -> None:
        """Refresh the keys. Failures are logged, and the previous keys are kept."""
        async with self._asking:
            await self._ask()

    async def _ask(self) -> None:
        self._asked_at, self._file = self._clock(), self._look()
        try:
            content = await self._fetch() if self._settings.jwks_url is not None else await self._read()
            self._keys, self._good_at = parse_jwks(content), self._clock()
        except (BadJwks, OSError, TimeoutError, ssl.SSLError) as error:
            reason = str(error) if isinstance(error, BadJwks) else type(error).__name__
            log.event("issuer keys not loaded", level=40, issuer=self._settings.name, reason=reason)

    def _look(self) -> tuple[int, int, int] | None:
        """Return values that change when `jwks_file` is replaced or written; None without a file."""
        if self._settings.jwks_file is None:
            return None
        try:
            found = self._settings.jwks_file.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    async def _read(self) -> bytes:
        assert self._settings.jwks_file is not None
        return await asyncio.to_thread(self._settings.jwks_file.read_bytes)

    async def _fetch(self) -> bytes:
        import aiohttp  # imported on use: aiohttp takes 25 % of the gateway's start time

        settings = self._settings
        context = await asyncio.to_thread(ssl.create_default_context, cafile=settings.ca_file)
        session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=_TIMEOUT_S),
            trust_env=False,  # ignore HTTP_PROXY and HTTPS_PROXY
            headers={"Accept": "application/json", "User-Agent": "sovctl-gateway"},
        )
        content = bytearray()
        try:
            async with (
                session,
                session.get(str(settings.jwks_url), ssl=context, allow_redirects=False) as response,
            ):
                if response.status != 200:
                    raise BadJwks(f"status-{response.status}")
                async for piece in response.content.iter_any():
                    content += piece
                    if len(content) > _MAX_BYTES:
                        raise BadJwks("too-large")
        except aiohttp.ClientError as error:
            raise BadJwks(type(error).__name__) from None
        return bytes(content)
