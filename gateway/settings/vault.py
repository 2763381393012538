"""Settings of the vault: a SQLite file of this host, or PostgreSQL for several hosts, and its keys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from .base.model import SettingsModel

_Text = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^[^\x00-\x20\x7f]+$")]


class PostgresqlSettings(SettingsModel):
    """A PostgreSQL database (13 or later), with TLS and verification of the server's name, or by a local socket."""

    dsn_file: Path | None = None
    """File with the URL `postgresql://user:password@host:port/database`; replaces the five keys below."""
    host: _Text | None = None
    """Name, address, or socket folder. Of several, separated by commas, the first one that accepts writes is used."""
    port: Annotated[int, Field(ge=1, le=65_535)] = 5432
    database: _Text = "sovctl"
    user: _Text = "sovctl"
    password_file: Path | None = None
    """Password file; None to authenticate by client certificate or socket."""
    ca_file: Path | None = None
    """CA of the server's certificate. Default: the system's CAs."""
    certificate_file: Path | None = None
    """Client certificate of the gateway, if the server requires one."""
    key_file: Path | None = None
    connect_timeout_s: Annotated[float, Field(gt=0, le=60)] = 3
    statement_timeout_s: Annotated[float, Field(gt=0, le=60)] = 3
    """Seconds for one statement. After the timeout, the database counts as unavailable, and requests stay on-prem."""

    @model_validator(mode="after")
    def _check_address(self) -> PostgresqlSettings:
        if (self.dsn_file is None) == (self.host is None):
            raise ValueError("expected either dsn_file or host, got both or neither")
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError("expected certificate_file and key_file together, got one of them")
        return self


class Pkcs11Settings(SettingsModel):
    """A key in a hardware token (PKCS#11); the key never leaves the token."""

    module: Path
    """PKCS#11 library of the token."""
    token_label: Annotated[str, StringConstraints(min_length=1, max_length=32)]
    key_label: Annotated[str, StringConstraints(min_length=1, max_length=64)]
    """Label of an AES key of 256 bits; never reused for another key."""
    pin_file: Path
    """File with the PIN in its first line, mode 0600; other lines are ignored."""
    mechanism: Literal["aes-gcm", "aes-key-wrap"] = "aes-gcm"
    """`aes-key-wrap` for tokens that reject external nonces. Must not change for a key in use."""


class KekSettings(SettingsModel):
    """A key-encryption key (KEK) from a file, an environment variable or a hardware token."""

    file: Path | None = None
    """Key file: 32 bytes, hex, mode 0600."""
    env: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")] | None = None
    """Environment variable with 32 bytes, hex; removed from the environment after reading."""
    pkcs11: Pkcs11Settings | None = None

    @model_validator(mode="after")
    def _check_location(self) -> KekSettings:
        if sum(place is not None for place in (self.file, self.env, self.pkcs11)) != 1:
            raise ValueError("expected exactly one of file, env and pkcs11")
        return self


class VaultSettings(SettingsModel):
    """Encrypted store of token values until their conversation expires."""

    path: Path | None = None
    """SQLite file of all gateway processes of this host; created if absent. Only the gateway's user may access its
    folder."""
    postgresql: PostgresqlSettings | None = None
    """Database for gateways on several hosts; replaces `path`."""
    kek_file: Path | None = None
    """KEK file: 32 bytes, hex. Short form of `kek` with one file."""
    kek: Annotated[list[KekSettings], Field(max_length=16)] = Field(default_factory=list)
    """KEKs, the current one first. The others only unwrap, until `vault rotate` has rewrapped the vault."""
    ttl_s: Annotated[int, Field(ge=60, le=31_536_000)] = 86_400
    """Seconds after its last use in which a conversation's tokens can be restored."""

    max_rows_per_tenant: Annotated[int, Field(ge=1, le=10**9)] = 1_000_000
    """Rows (new values of a request) that each worker writes for one tenant within `ttl_s`. Beyond it requests with new
    values of this tenant stay on-prem, or get 503 without a pool. 1,000,000, some 0.5 GB: guess, 2026-11."""

    @model_validator(mode="after")
    def _check_location(self) -> VaultSettings:
        if (self.path is None) == (self.postgresql is None):
            raise ValueError("expected either path or postgresql, got both or neither")
        if (self.kek_file is None) == (not self.kek):
            raise ValueError("expected either kek_file or kek, got both or neither")
        return self

    @property
    def keks(self) -> list[KekSettings]:
        """All KEKs, the current one first."""
        return self.kek or [KekSettings(file=self.kek_file)]
