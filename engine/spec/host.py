"""Section `host`: operating system settings of every node that are not a pool's or the gateway's."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from .types import CatalogId, FilePath, HostName, Name, Port, SpecModel, words

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


NodePath = Annotated[
    str,
    StringConstraints(pattern=r"^/([A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*)?$"),
    words("an absolute path on the node", kind="path"),
]

MountOption = Annotated[
    str, StringConstraints(pattern=r"^[a-z][a-z0-9_=.-]{0,60}$"), words("an option such as nodev", kind="option")
]

AuditRule = Annotated[
    str,
    StringConstraints(pattern=r"^-[wa] [A-Za-z0-9/][A-Za-z0-9 /._,=<>!&-]{0,300}$"),
    words("a rule of auditctl that begins with -w or -a", kind="rule"),
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


class Mount(SpecModel):
    """A file system that must exist on nodes. sovctl compares it and never formats, encrypts or assembles a disk."""

    path: NodePath
    """Mount point."""
    filesystem: Literal["ext4", "xfs", "btrfs", "nfs4"] | None = None
    """Type of the file system. Default: any."""
    is_encrypted: bool = False
    """Whether a LUKS device must be below the file system."""
    raid: Literal["raid0", "raid1", "raid5", "raid6", "raid10"] | None = None
    """Level of the software RAID that must be below the file system, with all its members. Default: not compared."""
    min_size_gib: Annotated[int, Field(ge=1, le=1_048_576)] = 1
    """Minimum size of the file system in GiB."""
    options: list[MountOption] = Field(default_factory=list)
    """Mount options that must be in use, such as `nodev`."""
    node_groups: list[Name] = Field(default_factory=list)
    """Node groups whose nodes must have it. Empty: all."""


class Audit(SpecModel):
    """Audit log of the kernel: auditd with the rules of sovctl and of the site."""

    rules: list[AuditRule] = Field(default_factory=list)
    """Further rules in the format of `auditctl -l`, such as `-w /opt/app -p wa -k app`."""
    max_log_file_mib: Annotated[int, Field(ge=8, le=4096)] = 64
    """Size of a log file in MiB, after which auditd begins the next one."""
    num_logs: Annotated[int, Field(ge=2, le=999)] = 10
    """Log files that auditd keeps. 999 is the maximum of auditd.conf(5)."""


class LogForwarding(SpecModel):
    """Transmission of the system log to the site's SIEM with rsyslog."""

    address: IPv4Address
    """Address of the SIEM."""
    port: Port = 6514
    """TCP port; default of syslog over TLS (RFC 5425, 4.1)."""
    ca_file: FilePath | None = None
    """Certificate authority of the SIEM, relative to site.yaml. Default: TCP without TLS."""
    server_name: HostName | None = None
    """Name in the certificate of the SIEM; required with `ca_file`."""
    client_certificate: bool = False
    """Whether nodes present their certificates to the SIEM; requires `ca_file`, and rsyslog that runs as root."""
    queue_mib: Annotated[int, Field(ge=16, le=65536)] = 1024
    """Disk space for messages while the SIEM is unreachable, in MiB."""


DriverParameter = Annotated[
    str,
    StringConstraints(pattern=r"^NVreg_[A-Za-z0-9]{1,60}$"),
    words("a parameter of the NVIDIA module such as NVreg_RestrictProfilingToAdminUsers", kind="parameter"),
]

DriverValue = Annotated[int, Field(ge=0, le=0xFFFFFFFF)]


class Host(SpecModel):
    """Operating system of the nodes: administrators, ssh, names, kernel, storage, audit log, log forwarding."""

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
    swap: Literal["off", "keep"] = "off"
    """`off`: no swap now and at boot, because swapped memory contains prompts and keys. `keep`: not changed."""
    mounts: list[Mount] = Field(default_factory=list)
    """File systems that must exist; apply refuses a node without them."""
    secure_boot: Literal["required", "any"] = "any"
    """`required`: apply refuses a node whose UEFI Secure Boot is off or unknown. A container has no firmware."""
    fips: Literal["required", "not-required"] | None = None
    """`required`: apply refuses a node whose kernel and OpenSSL are not in FIPS mode, or were not measured. vLLM and
    PyTorch are not validated in either mode (docs/host.md). `not-required`: `sovctl verify` states the mode. Default:
    the mode is not measured."""
    audit: Audit | None = None
    """Audit log of the kernel. Requires package auditd in the mirror. Default: not managed."""
    logs: LogForwarding | None = None
    """Transmission of the system log. Requires package rsyslog in the mirror. Default: none."""
    container_toolkit: bool = False
    """Whether containers on GPU nodes can use the GPUs: NVIDIA container toolkit with a CDI device for each GPU. Pools
    do not need it."""
