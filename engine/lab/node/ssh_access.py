"""Folder of a lab for the operator: keys, certificates, secrets, and a site.yaml that refers to them.

    DIR/access/   id_ed25519(.pub)  known_hosts  apt-key.asc  cloud-ca.pem
    DIR/secrets/  client-key  cloud-key
    DIR/cabling.csv
    DIR/site.yaml

Existing keys and secrets are kept. Host keys and certificates are replaced by those of the lab.
"""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from typing import Literal

from sovctl.support.atomic_files import write_atomic
from sovctl.support.package_files import package_folder

from ..linux.process import run

_PRESETS = package_folder("templates/presets")
SECRETS = ("client-key", "cloud-key")


def ensure_key(directory: Path) -> str:
    """Create the operator's key pair if absent, and return the line of its public key."""
    key = directory / "access" / "id_ed25519"
    public = key.with_name("id_ed25519.pub")
    if not (key.exists() and public.exists()):
        key.parent.mkdir(parents=True, exist_ok=True)
        for half in (key, public):
            half.unlink(missing_ok=True)
        run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "operator@sovctl-lab", "-f", key],
            purpose="create the operator's key",
        )
    return public.read_text().strip()


def ensure_secrets(directory: Path) -> None:
    """Create the API keys of the gateway's client and of the cloud if absent; 256 random bits each."""
    for name in SECRETS:
        file = directory / "secrets" / name
        if not file.exists():
            write_atomic(file, f"sk-lab-{secrets.token_hex(32)}\n", mode=0o600)
        file.parent.chmod(0o700)


def write_known_hosts(directory: Path, hosts: dict[str, str]) -> None:
    """Write the host keys of the nodes.

    Args:
        hosts: lines of public keys, by "name,address".
    """
    lines = [f"{names} {key}\n" for names, key in sorted(hosts.items())]
    write_atomic(directory / "access" / "known_hosts", "".join(lines))


def write_repository_key(directory: Path, armoured: str) -> None:
    """Write the public key of the lab's apt repository."""
    write_atomic(directory / "access" / "apt-key.asc", armoured)


def write_cloud_authority(directory: Path, pem: str) -> None:
    """Write the certificate authority of the lab's cloud host."""
    write_atomic(directory / "access" / "cloud-ca.pem", pem)


def write_cabling(directory: Path, text: str) -> None:
    """Write the planned cabling of the simulated fabric."""
    write_atomic(directory / "cabling.csv", text)


def allow_cloud_key(directory: Path, keys_file: Path) -> None:
    """Add this directory's API key to the keys that the cloud host accepts."""
    key = (directory / "secrets" / "cloud-key").read_text().strip()
    known = keys_file.read_text().split() if keys_file.exists() else []
    if key not in known:
        write_atomic(keys_file, "\n".join([*known, key]) + "\n", mode=0o600)


def ensure_site(directory: Path, *, preset: str, namespace: str) -> Literal["kept", "written", "no preset"]:
    """Write site.yaml from a preset if absent.

    Args:
        preset: name of the preset.
        namespace: of the lab; replaces the one of the preset.
    """
    file = directory / "site.yaml"
    if file.exists():
        return "kept"
    template = _PRESETS / f"{preset}.yaml"
    if not template.exists():
        return "no preset"
    write_atomic(file, site_text(template.read_text(), namespace=namespace))
    return "written"


def site_text(preset: str, *, namespace: str) -> str:
    """Return the preset with another network namespace, and its comments."""
    return re.sub(r"(?m)^(\s*network_namespace:\s*)[a-z][a-z0-9-]*", rf"\g<1>{namespace}", preset)
