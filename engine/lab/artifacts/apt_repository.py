"""Apt repository of a lab: a flat folder of packages with a signed index, as on a closed site.

    www/apt/  *.deb  Packages  Packages.gz  Release  InRelease

The signing key is in the cache of this machine, and is used only for this repository.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
from collections.abc import Iterable
from email.utils import formatdate
from pathlib import Path

from sovctl.support.atomic_files import sync_folder

from .. import layout
from ..linux import mounts
from ..linux.process import run

KEY_NAME = "sovctl lab repository (simulated site) <lab@sovctl.example>"
_INDEXES = ("Packages", "Packages.gz")


def ensure_repository(name: str, packages: Iterable[Path]) -> Path:
    """Return the folder of a signed repository; create it if the cache lacks it.

    Args:
        name: contains a digest of the contents.
        packages: .deb files. They are linked if the file system allows, else copied.
    """
    target = layout.cache_folder() / name
    if target.exists():
        return target
    public_key()  # creates the key if absent
    folder = layout.cache_folder() / ".making-repository"
    mounts.remove_tree(folder)
    folder.mkdir(parents=True)
    for package in packages:
        try:
            os.link(package, folder / package.name)
        except OSError:
            shutil.copy2(package, folder / package.name)
    index = run(["dpkg-scanpackages", "--multiversion", "."], purpose="index the repository", cwd=folder).encode()
    (folder / "Packages").write_bytes(index)
    (folder / "Packages.gz").write_bytes(gzip.compress(index, mtime=0))
    (folder / "Release").write_text(release_text(folder, date=formatdate(usegmt=True)))
    run(
        [*_gpg(), "--clearsign", "--local-user", KEY_NAME, "--output", folder / "InRelease", folder / "Release"],
        purpose="sign the repository",
    )
    _stop_agent(layout.cache_folder() / "gnupg")
    folder.rename(target)
    sync_folder(target.parent)
    return target


def release_text(folder: Path, *, date: str) -> str:
    """Return the Release file of a flat repository (Debian wiki, RepositoryFormat).

    Args:
        date: RFC 5322, GMT.
    """
    lines = [
        "Origin: sovctl lab",
        "Label: sovctl lab",
        "Description: simulated site repository of a sovctl lab",
        f"Date: {date}",
        "SHA256:",
    ]
    for name in _INDEXES:
        data = (folder / name).read_bytes()
        lines.append(f" {hashlib.sha256(data).hexdigest()} {len(data)} {name}")
    return "\n".join(lines) + "\n"


def public_key() -> str:
    """Return the public signing key, ASCII-armoured; create the key if absent."""
    home = layout.cache_folder() / "gnupg"
    if not (home / "pubring.kbx").exists():
        shutil.rmtree(home, ignore_errors=True)
        unfinished = home.with_name(".gnupg")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True, mode=0o700)
        run(
            [*_gpg(unfinished), "--passphrase", "", "--quick-generate-key", KEY_NAME, "ed25519", "sign", "never"],
            purpose="create the repository's signing key",
        )
        _stop_agent(unfinished)
        unfinished.rename(home)
    armoured = run([*_gpg(), "--armor", "--export", KEY_NAME], purpose="export the repository's key")
    _stop_agent(home)
    return armoured


def _gpg(home: Path | None = None) -> list[str]:
    folder = home or layout.cache_folder() / "gnupg"
    return ["gpg", "--homedir", str(folder), "--batch", "--yes", "--quiet", "--no-tty", "--pinentry-mode", "loopback"]


def _stop_agent(home: Path) -> None:
    """Stop the agent that gpg started, because it would outlive this process."""
    run(["gpgconf", "--homedir", str(home), "--kill", "gpg-agent"], purpose="stop the signing agent")
