"""The folder a lab hands to the person: keys, certificates, secrets, and a site.yaml that refers to them.

    DIR/access/   id_ed25519(.pub)  known_hosts  apt-key.asc  cloud-ca.pem
    DIR/secrets/  client-key  cloud-key
    DIR/site.yaml

Keys and secrets that are there are kept; what describes the lab (host keys, certificates) is written anew.
"""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from typing import Literal

from sovctl.support.atomic_files import write_atomic
from sovctl.support.package_files import package_folder

from ..linux.process import run

_PRESET = package_folder("templates/presets") / "lab.yaml"
SECRETS = ("client-key", "cloud-key")


def ensure_key(directory: Path) -> str:
    """The operator's key pair, made when absent.

    Returns:
        The public key line.
    """
    key = directory / "access" / "id_ed25519"
    public = key.with_name("id_ed25519.pub")
    if not (key.exists() and public.exists()):
        key.parent.mkdir(parents=True, exist_ok=True)
        for half in (key, public):
            half.unlink(missing_ok=True)
        run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "operator@sovctl-lab", "-f", key],
            purpose="make the operator's key",
        )
    return public.read_text().strip()


def ensure_secrets(directory: Path) -> None:
    """Random values for the gateway's client and for the cloud, made when absent; 256 bits each."""
    for name in SECRETS:
        file = directory / "secrets" / name
        if not file.exists():
            write_atomic(file, f"sk-lab-{secrets.token_hex(32)}\n", mode=0o600)
        file.parent.chmod(0o700)


def write_known_hosts(directory: Path, hosts: dict[str, str]) -> None:
    """True host keys: we made them.

    Args:
        hosts: public key line by "name,address".
    """
    lines = [f"{names} {key}\n" for names, key in sorted(hosts.items())]
    write_atomic(directory / "access" / "known_hosts", "".join(lines))


def write_repository_key(directory: Path, armoured: str) -> None:
    """The public key that the lab's apt repository is signed with."""
    write_atomic(directory / "access" / "apt-key.asc", armoured)


def write_cloud_authority(directory: Path, pem: str) -> None:
    """The certificate authority of the lab's cloud host."""
    write_atomic(directory / "access" / "cloud-ca.pem", pem)


def allow_cloud_key(directory: Path, keys_file: Path) -> None:
    """Let the cloud host accept this directory's key beside those it accepts already."""
    key = (directory / "secrets" / "cloud-key").read_text().strip()
    known = keys_file.read_text().split() if keys_file.exists() else []
    if key not in known:
        write_atomic(keys_file, "\n".join([*known, key]) + "\n", mode=0o600)


def ensure_site(directory: Path, *, namespace: str) -> Literal["kept", "written", "no preset"]:
    """site.yaml from the lab preset, when there is none.

    Args:
        namespace: the lab's own, instead of the default lab's that the preset names.
    """
    file = directory / "site.yaml"
    if file.exists():
        return "kept"
    if not _PRESET.exists():
        return "no preset"
    write_atomic(file, site_text(_PRESET.read_text(), namespace=namespace))
    return "written"


def site_text(preset: str, *, namespace: str) -> str:
    """The preset with another network namespace; comments stay."""
    return re.sub(r"(?m)^(\s*network_namespace:\s*)[a-z][a-z0-9-]*", rf"\g<1>{namespace}", preset)
