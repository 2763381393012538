"""Seeds of a site in the state folder: one folder for each node.

    seeds/NODE/ssh_host_ed25519_key.pub   public host key, kept
    seeds/NODE/volume/                    files of the medium with the private host key; mode 0700, files 0600

`erase` removes the volume. The file system may keep copies of erased blocks, and media have their own; so the first
apply of a site may replace host keys.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from sovctl.support.atomic_files import read_error_reason, sync_folder, write_atomic
from sovctl.support.errors import InputError, MissingTool
from sovctl.support.secret_files import read_secret

from ..site.site import Site
from ..spec import Node
from .host_key import HostKey, parse_host_key
from .ledger import record
from .seed import HOST_KEY, Seed, new_host_key, render
from .seed_settings import Installer, SeedSettings
from .seed_validation import validate

RECORD_TYPE = "node-seed"
LABELS = {Installer.AUTOINSTALL: "CIDATA", Installer.KICKSTART: "OEMDRV", Installer.PRESEED: "SEED"}
"""Label of the medium. Sources: cloud-init, NoCloud; Anaconda, inst.ks; debian-installer reads any medium."""
_PASSPHRASE = re.compile(r"[A-Za-z0-9+/=._-]{20,128}")  # no character that an installer interprets
_PUBLIC = f"{Path(HOST_KEY).name}.pub"


@dataclass(frozen=True)
class Written:
    """A seed that was written.

    Args:
        validated_by: program of the installer that accepted the files; None if it is absent.
    """

    node: str
    folder: Path
    label: str
    fingerprint: str
    validated_by: str | None


def write(site: Site, node: Node, settings: SeedSettings, settings_folder: Path) -> Written:
    """Write the seed of a node. The caller holds the site's lock.

    Args:
        settings_folder: base of `luks_passphrase_file`.

    Raises:
        InputError: the node has no settings or already a seed, or a file of them is unusable.
    """
    if node.name not in settings.nodes:
        raise InputError(f"the settings have no node {node.name!r}", where="--settings")
    folder = _folder(site, node.name)
    if (folder / "volume").exists():
        hint = f"sovctl bootstrap seed erase {node.name}"
        raise InputError(f"{node.name} has a seed, whose host key may be in use", where=str(folder), hint=hint)
    passphrase_file = settings.nodes[node.name].luks_passphrase_file
    seed = Seed(
        spec=site.spec,
        node=node,
        settings=settings,
        authorized_key=_public_key(site.folder / site.spec.access.key_file),
        apt_key=_text(site.folder / site.spec.artifacts.apt_key_file),
        host_key=new_host_key(),
        passphrase=None if passphrase_file is None else _passphrase(settings_folder / passphrase_file),
    )
    files = render(seed)
    validated_by = validate(settings.installer, files)
    public = seed.host_key.public
    record(
        site, RECORD_TYPE, node=node.name, event="written", fingerprint=public.fingerprint,
        installer=settings.installer.value,
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    (folder / "volume").mkdir(mode=0o700)
    write_atomic(folder / _PUBLIC, public.line + "\n")
    for name, text in files.items():
        write_atomic(folder / "volume" / name, text, mode=0o600)
    return Written(node.name, folder / "volume", LABELS[settings.installer], public.fingerprint, validated_by)


def erase(site: Site, name: str) -> bool:
    """Delete the private part of a node's seed. The caller holds the site's lock.

    Returns:
        False if it was erased before.

    Raises:
        InputError: the node never had a seed.
    """
    public, volume = host_key(site, name), _folder(site, name) / "volume"
    if not volume.exists():
        return False
    record(site, RECORD_TYPE, node=name, event="erased", fingerprint=public.fingerprint)
    shutil.rmtree(volume)
    sync_folder(volume.parent)
    return True


def host_key(site: Site, name: str) -> HostKey:
    """Return the public host key in the seed of a node.

    Raises:
        InputError: the node has no seed.
    """
    path = _folder(site, name) / _PUBLIC
    if not path.exists():
        raise InputError(f"{name} has no seed", where=str(path), hint=f"sovctl bootstrap seed write {name}")
    return parse_host_key(_text(path), where=str(path))


def _folder(site: Site, name: str) -> Path:
    return site.state.root / "seeds" / name


def _public_key(private: Path) -> str:
    """Return the line of the controller's public key, without comment."""
    try:
        done = subprocess.run(
            ["ssh-keygen", "-y", "-P", "", "-f", str(private)], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise MissingTool("command `ssh-keygen` not found", hint="apt-get install openssh-client") from None
    if done.returncode != 0:
        hint = f"ssh-keygen -t ed25519 -N '' -f {private}"
        raise InputError("not a private key without passphrase", where=f"access.key_file: {private}", hint=hint)
    return " ".join(done.stdout.split()[:2])


def _passphrase(path: Path) -> str:
    passphrase = read_secret(path)
    if not _PASSPHRASE.fullmatch(passphrase):
        hint = "openssl rand -base64 30"
        raise InputError("expected 20 to 128 letters, digits and + / = . _ -", where=str(path), hint=hint)
    return passphrase


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"unreadable: {read_error_reason(error)}", where=str(path)) from None
