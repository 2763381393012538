"""Section `host`: operating system settings of every node that are not a pool's or the gateway's."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Annotated

from pydantic import Field, StringConstraints

from .types import CatalogId, HostName, SpecModel, words

LinuxUser = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z_][a-z0-9_-]{0,31}$"),
    words("a Linux user name such as anna", kind="user"),
]

PublicKey = Annotated[
    str,
    StringConstraints(
        pattern=r"^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-ssh-ed25519@openssh\.com"
        r"|sk-ecdsa-sha2-nistp256@openssh\.com) [A-Za-z0-9+/]{40,900}={0,2}$"
    ),
    words("type and key of an OpenSSH public key without options and comment: ssh-ed25519 AAAA...", kind="public key"),
]

SudoCommand = Annotated[
    str,
    StringConstraints(pattern=r"^(ALL|/[A-Za-z0-9/._-]+( [A-Za-z0-9/._@*-]+)*)$"),
    words("ALL, or an absolute path with arguments", kind="command"),
]


class Administrator(SpecModel):
    """A person with an own account on every node: ssh with the named keys only, no password."""

    name: LinuxUser
    """Account name, unique; not `access.user`, not root, and not an account of a service."""
    keys: Annotated[list[PublicKey], Field(min_length=1, max_length=16)]
    """Public keys. They replace all other keys of the account."""
    sudo: list[SudoCommand] = Field(default_factory=list)
    """Commands that the account may run as root without a password; `ALL`: every command. Empty: none."""


class Dns(SpecModel):
    """Name servers of the nodes."""

    servers: Annotated[list[IPv4Address], Field(min_length=1, max_length=3)]
    """Name servers inside the perimeter, in the order of use. The resolver of glibc uses at most 3 (resolv.conf(5))."""
    search: Annotated[list[HostName], Field(max_length=6)] = Field(default_factory=list)
    """Domains in which short names are searched; at most 6 (resolv.conf(5))."""


DriverParameter = Annotated[
    str,
    StringConstraints(pattern=r"^NVreg_[A-Za-z0-9]{1,60}$"),
    words("a parameter of the NVIDIA module such as NVreg_RestrictProfilingToAdminUsers", kind="parameter"),
]

DriverValue = Annotated[int, Field(ge=0, le=0xFFFFFFFF)]


class Host(SpecModel):
    """Operating system of the nodes: administrators, ssh, names, kernel."""

    administrators: list[Administrator] = Field(default_factory=list)
    """Accounts of persons. An account that is removed here is locked, and loses its keys and sudo rules."""
    dns: Dns | None = None
    """Name servers. Default: the resolver of the nodes is not changed."""
    omitted_settings: list[CatalogId] = Field(default_factory=list)
    """Rows of the table of GPU server settings (docs/host.md) that the site does not want, such as `init-on-alloc`. The
    others are set on every GPU server, and compared on DGX OS."""
    driver_parameters: dict[DriverParameter, DriverValue] = Field(default_factory=dict)
    """Parameters of the NVIDIA kernel module, as whole numbers. `NVreg_RestrictProfilingToAdminUsers: 0` permits
    profiling to all users."""
