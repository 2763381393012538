"""Values of the installer seed of one node, and the texts of its files.

- The controller makes the node's host key, so that it is known before the first boot. Its private half is in the seed.
- The account of the controller has its public key only, no password, and sudo.
- The node has a static address, and no package source except the site's mirror. It installs no update by itself.

`render` is pure.
"""

from __future__ import annotations

import base64
import ipaddress
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from sovctl.support.package_files import package_folder

from ..spec import Node, SiteSpec
from .host_key import HostKey, parse_host_key
from .seed_settings import Installer, NodeSeed, SeedSettings

KEYRING = "/etc/apt/keyrings/sovctl.asc"  # as in roles/repository
SOURCE = "/etc/apt/sources.list.d/sovctl.sources"
HOST_KEY = "/etc/ssh/ssh_host_ed25519_key"


@dataclass(frozen=True)
class HostKeyPair:
    """Host key of a node. Its `repr` has the fingerprint only."""

    public: HostKey
    private_pem: str

    def __repr__(self) -> str:
        return f"HostKeyPair({self.public.fingerprint}, private=hidden)"


@dataclass(frozen=True, repr=False)
class Seed:
    """Values of a seed; contains secrets.

    Args:
        authorized_key: line of the controller's public key.
        apt_key: public key of the mirror, armored.
        passphrase: of the disk; None without encryption.
    """

    spec: SiteSpec
    node: Node
    settings: SeedSettings
    authorized_key: str
    apt_key: str
    host_key: HostKeyPair
    passphrase: str | None

    @property
    def hardware(self) -> NodeSeed:
        """Hardware of the node."""
        return self.settings.nodes[self.node.name]

    @property
    def netmask(self) -> str:
        """Network mask of the node's address, such as 255.255.255.0."""
        return str(ipaddress.ip_network(f"0.0.0.0/{self.settings.prefix_length}").netmask)

    @property
    def name_servers(self) -> list[str]:
        """Name servers of site.yaml; empty without any."""
        dns = self.spec.host.dns
        return [str(server) for server in dns.servers] if dns else []


def new_host_key() -> HostKeyPair:
    """Return a new Ed25519 host key."""
    private = Ed25519PrivateKey.generate()
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = private.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return HostKeyPair(parse_host_key(public.decode(), where="new host key"), pem.decode())


def render(seed: Seed) -> Mapping[str, str]:
    """Return the texts of the seed's files by name."""
    match seed.settings.installer:
        case Installer.AUTOINSTALL:
            return _autoinstall(seed)
        case Installer.KICKSTART:
            return {"ks.cfg": _template("ks.cfg.j2").render(seed=seed, script=_setup(seed))}
        case Installer.PRESEED:
            script = base64.b64encode(_setup(seed).encode()).decode()
            return {"preseed.cfg": _template("preseed.cfg.j2").render(seed=seed, script=script)}


def cloud_config(seed: Seed) -> dict[str, object]:
    """Return the cloud-init configuration of the installed system.

    Source: cloud-init 24.4, module reference: users and groups, ssh, ntp, write files.
    """
    user = {
        "name": seed.spec.access.user, "lock_passwd": True, "shell": "/bin/bash",
        "sudo": "ALL=(ALL) NOPASSWD:ALL", "ssh_authorized_keys": [seed.authorized_key],
    }  # fmt: skip
    return {
        "hostname": seed.node.name,
        "users": [user],
        "disable_root": True,
        "ssh_pwauth": False,
        "ssh_deletekeys": True,
        "ssh_keys": {"ed25519_private": seed.host_key.private_pem, "ed25519_public": seed.host_key.public.line},
        "ntp": {"enabled": True, "ntp_client": "systemd-timesyncd", "servers": list(seed.spec.clock.servers)},
        "write_files": [
            {"path": KEYRING, "permissions": "0644", "content": seed.apt_key},
            {"path": SOURCE, "permissions": "0644", "content": _apt_source(seed)},
            {"path": "/etc/apt/apt.conf.d/99sovctl", "permissions": "0644", "content": _NO_UPGRADES},
        ],
        "runcmd": [["rm", "-f", "/etc/apt/sources.list", "/etc/apt/sources.list.d/ubuntu.sources"]],
    }


def _autoinstall(seed: Seed) -> dict[str, str]:
    """Return user-data and meta-data of a volume CIDATA.

    Source: subiquity, autoinstall reference, 2026-08-20. `user-data` replaces `identity`, which requires a password.
    From Ubuntu 24.04, `autoinstall` is the only key at the top.
    """
    storage: dict[str, object] = {"name": "lvm", "match": {"serial": f"*{seed.hardware.disk_serial}"}}
    if seed.passphrase is not None:
        storage["password"] = seed.passphrase
    interface: dict[str, object] = {
        "match": {"macaddress": seed.hardware.mac},
        "dhcp4": False,
        "dhcp6": False,
        "addresses": [f"{seed.node.address}/{seed.settings.prefix_length}"],
        "routes": [{"to": "default", "via": str(seed.settings.gateway)}],
    }
    if seed.name_servers:
        interface["nameservers"] = {"addresses": seed.name_servers}
    values = {
        "version": 1,
        "locale": "C.UTF-8",
        "keyboard": {"layout": "us"},
        "timezone": "Etc/UTC",
        "refresh-installer": {"update": False},
        # Without both, the installer waits for the public archive.
        "apt": {"fallback": "offline-install", "geoip": False},
        "network": {"version": 2, "ethernets": {"management": interface}},
        "storage": {"layout": storage},
        "ssh": {"install-server": True, "allow-pw": False},
        "user-data": cloud_config(seed),
        "shutdown": "reboot",
    }
    text = yaml.safe_dump({"autoinstall": values}, sort_keys=False, width=1000)
    meta = yaml.safe_dump({"instance-id": f"{seed.spec.site.name}-{seed.node.name}"})
    return {"user-data": f"#cloud-config\n{text}", "meta-data": meta}


_NO_UPGRADES = 'APT::Periodic::Update-Package-Lists "0";\nAPT::Periodic::Unattended-Upgrade "0";\n'


def _apt_source(seed: Seed) -> str:
    return f"Types: deb\nURIs: {seed.spec.artifacts.apt_url}\nSuites: ./\nSigned-By: {KEYRING}\n"


def _setup(seed: Seed) -> str:
    """Return the shell script that an installer without cloud-init runs in the installed system."""
    return _template("setup.sh.j2").render(
        seed=seed, user=seed.spec.access.user, quote=shlex.quote, host_key=HOST_KEY, keyring=KEYRING, source=SOURCE,
        apt_source=_apt_source(seed), no_upgrades=_NO_UPGRADES,
    )  # fmt: skip


@cache
def _template(name: str) -> Template:
    environment = Environment(
        loader=FileSystemLoader(package_folder("templates/seed")),
        autoescape=False,  # noqa: S701 - files of installers, no HTML
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(name)
