"""Where originals are kept, sealed: in a file of this host, or in PostgreSQL for several hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from .model import SettingsModel

_Text = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^[^\x00-\x20\x7f]+$")]


class PostgresqlSettings(SettingsModel):
    """A PostgreSQL database, 13 or later. Always with TLS that checks the server's name, or a socket of this host."""

    dsn_file: Path | None = None
    """File with a whole `postgresql://user:password@host:port/database`, instead of the five keys below."""
    host: _Text | None = None
    """Name, address, or folder of a socket. Several, with commas between: the first one that takes writes."""
    port: Annotated[int, Field(ge=1, le=65_535)] = 5432
    database: _Text = "sovctl"
    user: _Text = "sovctl"
    password_file: Path | None = None
    """None when a client certificate or the socket says who we are."""
    ca_file: Path | None = None
    """Authority of the server's certificate; None for those that this system trusts."""
    certificate_file: Path | None = None
    """Our own certificate, where the server asks for one."""
    key_file: Path | None = None
    connect_timeout_s: Annotated[float, Field(gt=0, le=60)] = 3
    statement_timeout_s: Annotated[float, Field(gt=0, le=60)] = 3
    """After this the database counts as down, and what would have left stays on-prem."""

    @model_validator(mode="after")
    def _one_address(self) -> PostgresqlSettings:
        if (self.dsn_file is None) == (self.host is None):
            raise ValueError("expected either dsn_file or host, got both or neither")
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError("expected certificate_file and key_file together, got one of them")
        return self


class Pkcs11Settings(SettingsModel):
    """A key in a hardware token, which wraps and unwraps and never leaves it."""

    module: Path
    """The token's PKCS#11 library."""
    token_label: Annotated[str, StringConstraints(min_length=1, max_length=32)]
    key_label: Annotated[str, StringConstraints(min_length=1, max_length=64)]
    """An AES key of 256 bits; never reuse the label of another."""
    pin_file: Path
    """The PIN in its first line; other lines are not read. Only its owner may read it."""
    mechanism: Literal["aes-gcm", "aes-key-wrap"] = "aes-gcm"
    """aes-key-wrap for a token that refuses nonces from outside. Part of which KEK this is: don't change it later."""


class KekSettings(SettingsModel):
    """One key-encryption key (KEK), from one of three places."""

    file: Path | None = None
    """32 bytes, hex; only its owner may read it."""
    env: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")] | None = None
    """Name of a variable with 32 bytes, hex; removed from the environment once it is read."""
    pkcs11: Pkcs11Settings | None = None

    @model_validator(mode="after")
    def _one_place(self) -> KekSettings:
        if sum(place is not None for place in (self.file, self.env, self.pkcs11)) != 1:
            raise ValueError("expected exactly one of file, env and pkcs11")
        return self


class VaultSettings(SettingsModel):
    """Where originals are kept, sealed, until their conversation expires."""

    path: Path | None = None
    """SQLite file, for all gateway processes of this host; made when absent. Its folder must belong to us alone."""
    postgresql: PostgresqlSettings | None = None
    """Instead of `path`: for gateways on several hosts."""
    kek_file: Path | None = None
    """Key that wraps the vault's keys: 32 bytes, hex. Short for `kek` with one file."""
    kek: Annotated[list[KekSettings], Field(max_length=16)] = Field(default_factory=list)
    """The first one wraps; the others only unwrap, until `vault rotate` has replaced them."""
    ttl_s: Annotated[int, Field(ge=60, le=31_536_000)] = 86_400
    """Seconds after its last use in which a conversation's tokens can be restored."""

    @model_validator(mode="after")
    def _one_place(self) -> VaultSettings:
        if (self.path is None) == (self.postgresql is None):
            raise ValueError("expected either path or postgresql, got both or neither")
        if (self.kek_file is None) == (not self.kek):
            raise ValueError("expected either kek_file or kek, got both or neither")
        return self

    @property
    def keks(self) -> list[KekSettings]:
        """All KEKs, the current one first."""
        return self.kek or [KekSettings(file=self.kek_file)]
