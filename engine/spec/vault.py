"""The keys under which the gateway seals values and makes tokens, as site.yaml has them; a part of `spec`."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from .types import FilePath, Port, Secret, SpecModel, words

KeyVersion = Annotated[int, Field(ge=1, le=2_147_483_647)]
"""Of a key; never used again for another one."""

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
    """A key in a hardware token (PKCS#11) that every gateway node reaches. It wraps and unwraps there."""

    module: _NodePath
    """The token's PKCS#11 library on the nodes; you install it."""
    token_label: Annotated[_Label, StringConstraints(max_length=32)]
    """What the token is called."""
    key_label: _Label
    """An AES key of 256 bits."""
    pin: Secret
    """Of the token's user."""
    mechanism: Literal["aes-gcm", "aes-key-wrap"] = "aes-gcm"
    """aes-key-wrap for a token that refuses nonces from outside; never changed for a key that is in use."""


class Kek(SpecModel):
    """One key-encryption key. Without `pkcs11`, `apply` makes it, once, as a file."""

    version: KeyVersion = 1
    """Never that of another key, not even of one that is gone."""
    pkcs11: HardwareKey | None = None
    """Where it is, when it is in a hardware token."""


class Postgresql(SpecModel):
    """A PostgreSQL database inside the site, 13 or later, which proves its address by TLS. You run it."""

    host: IPv4Address
    """Which its certificate names; the firewall lets the gateway through to it."""
    port: Port = 5432
    """Where it listens."""
    database: _Word = "sovctl"
    """Made by you; the gateway makes its tables in it."""
    user: _Word = "sovctl"
    """Who may create a schema in it."""
    password: Secret
    """24 random characters or more."""
    ca_file: FilePath | None = None
    """Who signed its certificate, on the controller, relative to site.yaml; the site's own authority when absent."""


class TokenKey(SpecModel):
    """A key that signs tokens. `apply` creates it, once, as a file."""

    version: KeyVersion = 1
    """Version of the key; a version number is never reused for another key, even after the key is removed."""


class Vault(SpecModel):
    """Encrypted store of the values that tokens replace."""

    postgresql: Postgresql | None = None
    """One for all gateway nodes, so that a conversation may go on at another one; a file on each node when absent."""
    kek: Annotated[list[Kek], Field(min_length=1, max_length=16)] = Field(default_factory=lambda: [Kek()])
    """Key-encryption keys, the current one first. The others only unwrap, until `sovctl gateway vault rotate` has
    rewrapped the vault with the first one."""
    ttl_s: Annotated[int, Field(ge=60, le=31_536_000)] = 86_400
    """Seconds after its last use in which a conversation's tokens can be restored."""
