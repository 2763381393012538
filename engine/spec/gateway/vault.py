"""`gateway.vault` and `gateway.token_keys` of site.yaml: the keys of stored values and of tokens."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from ..types import FilePath, Port, Secret, SpecModel, words

KeyVersion = Annotated[int, Field(ge=1, le=2_147_483_647)]
"""Version of a key; never reused for another key."""

_NodePath = Annotated[
    str,
    StringConstraints(pattern=r"^/[!-~]{1,254}$"),
    words("an absolute path on the node", kind="node path"),
]
_Label = Annotated[
    str,
    StringConstraints(pattern=r"^[!-~]([ -~]{0,62}[!-~])?$"),
    words("1 to 64 printable ASCII characters", kind="label"),
]

_Word = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,62}$"),
    words("letters, digits, _ and -, a letter first, at most 63", kind="database word"),
]


class HardwareKey(SpecModel):
    """A key in a hardware token (PKCS#11) that every gateway node can reach. The key never leaves the token."""

    module: _NodePath
    """PKCS#11 library of the token on the nodes, installed by the operator."""
    token_label: Annotated[_Label, StringConstraints(max_length=32)]
    """Label of the token."""
    key_label: _Label
    """Label of an AES key of 256 bits."""
    pin: Secret
    """PIN of the token's user."""
    mechanism: Literal["aes-gcm", "aes-key-wrap"] = "aes-gcm"
    """`aes-key-wrap` for tokens that reject external nonces. Must not change for a key in use."""


class Kek(SpecModel):
    """A key-encryption key (KEK). Without `pkcs11`, `apply` creates it, once, as a file."""

    version: KeyVersion = 1
    """Version number; never reused for another key, even after the key is removed."""
    pkcs11: HardwareKey | None = None
    """Location of the key in a hardware token. Default: a file."""


class Postgresql(SpecModel):
    """A PostgreSQL database (13 or later) inside the site, run by the operator. TLS is required."""

    host: IPv4Address
    """Address of the database, also in its certificate. The firewall opens it for the gateway."""
    port: Port = 5432
    """Port of the database."""
    database: _Word = "sovctl"
    """Name of the database. The operator creates it; the gateway creates its tables."""
    user: _Word = "sovctl"
    """Database user with the right to create a schema."""
    password: Secret
    """Password of the user: at least 24 random characters."""
    ca_file: FilePath | None = None
    """CA of its certificate, on the controller, relative to site.yaml. Default: the site's CA."""


class TokenKey(SpecModel):
    """A key that signs tokens. `apply` creates it, once, as a file."""

    version: KeyVersion = 1
    """Version number; never reused for another key, even after the key is removed."""


class Vault(SpecModel):
    """Encrypted store of the values that tokens replace."""

    postgresql: Postgresql | None = None
    """Database for all gateway nodes, so that a conversation can continue on another node. Default: a file on each
    node."""
    kek: Annotated[list[Kek], Field(min_length=1, max_length=16)] = Field(default_factory=lambda: [Kek()])
    """Key-encryption keys, the current one first. The others only unwrap, until `sovctl gateway vault rotate` has
    rewrapped the vault with the first one."""
    ttl_s: Annotated[int, Field(ge=60, le=31_536_000)] = 86_400
    """Seconds after its last use in which a conversation's tokens can be restored."""
    max_rows_per_tenant: Annotated[int, Field(ge=1, le=10**9)] = 1_000_000
    """Rows (new values of a request) that each worker writes for one tenant within `ttl_s`. Beyond it requests with new
    values of this tenant stay on-prem, or get 503 without a pool."""
