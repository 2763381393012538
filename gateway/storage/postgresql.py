"""A PostgreSQL connection with TLS, timeouts and reconnection.

Data is sent only to a server that proves its name (TLS, verify-full), or through a socket of this host. While the
database is down, calls fail immediately, and a new connection is tried after one second.

    link = PostgresqlLink(Address.of(settings.postgresql), schema="sovctl_vault", failure=VaultFailed, hint="...")
    await link.run(lambda connection: connection.fetch("SELECT 1"))
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

import asyncpg

from sovctl.support.errors import InputError
from sovctl.support.secret_files import read_secret

from ..settings import PostgresqlSettings
from .errors import StorageFailed

_Result = TypeVar("_Result")
_RETRY_AFTER_S = 1.0  # between two attempts to connect
_MAX_ATTEMPTS = 3
_GRACE_S = 1.0  # the server's own timeout ends first and reports the cause
# asyncpg raises InternalClientError if a connection breaks during certain operations.
_BROKEN = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)


@dataclass(frozen=True)
class Address:
    """Address of the database and credentials. Not printed, because it contains the password."""

    hosts: tuple[str, ...]
    ports: tuple[int, ...]
    database: str
    user: str
    password: str | None = field(repr=False)
    tls: ssl.SSLContext | None = field(repr=False)
    connect_timeout_s: float
    statement_timeout_s: float

    @classmethod
    def of(cls, settings: PostgresqlSettings) -> Address:
        """Read the settings with their secrets and certificates.

        Raises:
            InputError: a file is unreadable, or the DSN is invalid or requests weaker TLS than verify-full.
        """
        if settings.dsn_file is not None:
            hosts, ports, database, user, password = _parsed(
                settings.dsn_file.as_posix(), read_secret(settings.dsn_file)
            )
        else:
            assert settings.host is not None
            hosts = tuple(settings.host.split(","))
            ports = (settings.port,) * len(hosts)
            database, user = settings.database, settings.user
            password = read_secret(settings.password_file) if settings.password_file else None
        is_socket = {host.startswith("/") for host in hosts}
        if len(is_socket) > 1:
            raise InputError("both hosts and a socket are set; use one of them", where="vault.postgresql: host")
        return cls(
            hosts,
            ports,
            database,
            user,
            password,
            None if True in is_socket else _tls(settings),
            settings.connect_timeout_s,
            settings.statement_timeout_s,
        )

    def __str__(self) -> str:
        """Return hosts and database, for errors and reports."""
        return f"postgresql {','.join(self.hosts)}/{self.database}"


class PostgresqlLink:
    """One connection, used by one caller at a time.

    Args:
        schema: schema of the tables.
        failure: raised if the database is unreachable or rejects a statement.
        hint: consequence for the gateway, for error messages.
    """

    def __init__(
        self,
        address: Address,
        *,
        schema: str,
        failure: type[StorageFailed],
        hint: str,
    ) -> None:
        self.address = address
        self._failure = failure
        self._hint = hint
        self._schema = schema
        self._lock = asyncio.Lock()
        self._connection: asyncpg.Connection[Any] | None = None
        self._down_until = 0.0
        self._is_closed = False

    @property
    def where(self) -> str:
        """Address and schema, for errors and reports."""
        return f"{self.address}, {self._schema}"

    async def run(
        self, use: Callable[[asyncpg.Connection[Any]], Awaitable[_Result]], *, is_repeatable: bool = True
    ) -> _Result:
        """Return the result of `use`.

        Args:
            is_repeatable: `use` may run again if only its result was lost.

        Raises:
            StorageFailed: `failure`.
        """
        async with self._lock:
            for attempt in range(_MAX_ATTEMPTS):
                is_fresh = self._connection is None or self._connection.is_closed()
                connection = await self._connected()
                try:
                    return await use(connection)
                except (asyncpg.DeadlockDetectedError, asyncpg.SerializationError) as error:
                    if attempt + 1 == _MAX_ATTEMPTS:
                        raise self._failed(error) from error
                except _BROKEN as error:
                    self._drop()
                    # The connection may have been closed long ago: a restart of the server is not an error.
                    if is_fresh or not is_repeatable or isinstance(error, TimeoutError):
                        raise self._failed(error) from error
                except asyncpg.PostgresError as error:
                    raise self._failed(error) from error
            raise self._failed(None)

    async def close(self) -> None:
        """Close the connection. Idempotent."""
        self._is_closed = True
        async with self._lock:
            if self._connection is not None:
                try:
                    await self._connection.close(timeout=self.address.connect_timeout_s)
                except _BROKEN:
                    self._connection.terminate()
                self._connection = None

    async def _connected(self) -> asyncpg.Connection[Any]:
        if self._is_closed:
            raise self._failure("the connection is closed", where=str(self.address))
        if self._connection is not None and not self._connection.is_closed():
            return self._connection
        if time.monotonic() < self._down_until:
            raise self._failed(None)
        address = self.address
        limit_ms = str(round(address.statement_timeout_s * 1000))
        try:
            self._connection = await asyncpg.connect(
                host=list(address.hosts),
                port=list(address.ports),
                database=address.database,
                user=address.user,
                password=address.password or "",  # ignore PGPASSWORD and ~/.pgpass
                ssl=address.tls if address.tls is not None else False,
                timeout=address.connect_timeout_s,
                command_timeout=address.statement_timeout_s + _GRACE_S,
                target_session_attrs="read-write",
                server_settings={
                    "application_name": "sovctl-gateway",
                    "search_path": self._schema,
                    "synchronous_commit": "on",
                    "statement_timeout": limit_ms,
                    "lock_timeout": limit_ms,
                    "idle_in_transaction_session_timeout": limit_ms,
                    "default_transaction_isolation": "read committed",
                },
            )
        except (asyncpg.PostgresError, asyncpg.ClientConfigurationError, *_BROKEN) as error:
            self._down_until = time.monotonic() + _RETRY_AFTER_S
            raise self._failed(error) from error
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    def _failed(self, error: BaseException | None) -> StorageFailed:
        return self._failure(
            f"the database does not answer: {_reason(error)}", where=str(self.address), hint=self._hint
        )


def _parsed(where: str, dsn: str) -> tuple[tuple[str, ...], tuple[int, ...], str, str, str | None]:
    """Return hosts, ports, database, user and password of a DSN (libpq, "Connection URIs"). Errors do not contain the
    DSN."""
    parts = urlsplit(dsn)
    account, _, places = parts.netloc.rpartition("@")
    user, _, password = account.partition(":")
    options = parse_qs(parts.query, keep_blank_values=True)
    pairs = [_host_and_port(place) for place in (options.pop("host", None) or places.split(","))]
    asked = options.pop("sslmode", ["verify-full"])
    if (
        parts.scheme not in {"postgresql", "postgres"}
        or not user
        or not parts.path.strip("/")
        or any(not host or not port.isdecimal() for host, port in pairs)
    ):
        raise InputError("invalid DSN, expected postgresql://user:password@host:port/database", where=where)
    if asked != ["verify-full"]:
        raise InputError(
            "unsupported sslmode; use verify-full, or omit it", where=where, hint="weaker modes are not supported"
        )
    if options:
        raise InputError(
            f"unsupported options: {', '.join(sorted(options))}; only host and sslmode are permitted",
            where=where,
            hint="use the other keys of vault.postgresql",
        )
    return (
        tuple(unquote(host) for host, _ in pairs),
        tuple(int(port) for _, port in pairs),
        unquote(parts.path.strip("/")),
        unquote(user),
        unquote(password) or None,
    )


def _host_and_port(place: str) -> tuple[str, str]:
    if place.startswith("["):  # an IPv6 address
        host, _, rest = place[1:].partition("]")
        return host, rest.removeprefix(":") or "5432"
    host, _, port = place.partition(":")
    return host, port or "5432"


def _tls(settings: PostgresqlSettings) -> ssl.SSLContext:
    """Return a TLS context for verify-full: a trusted authority and a matching host name."""
    try:
        context = ssl.create_default_context(cafile=settings.ca_file)
        context.minimum_version = ssl.TLSVersion.TLSv1_2  # NIST SP 800-52r2, 3.1
        if settings.certificate_file is not None:
            context.load_cert_chain(settings.certificate_file, settings.key_file)
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise InputError(
            f"certificate or key unreadable: {reason}",
            where="vault.postgresql: ca_file, certificate_file, key_file",
        ) from error
    return context


def _reason(error: BaseException | None) -> str:
    """Return the cause without the server's text, which may quote values."""
    if error is None:
        return "it did not answer a moment ago"
    if isinstance(error, asyncpg.PostgresError):
        return f"{type(error).__name__} (SQLSTATE {error.sqlstate})"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"a certificate that does not verify ({error.verify_message})"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
