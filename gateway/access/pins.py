"""Digests of the clients files. Only a file whose digest is named is served, so that a planted file gives no access.
Without a named digest a gateway does not start.

The digest of `clients_file` is `clients_sha256` in gateway.yaml; that of `access.local_clients_file` is in
`access.local_clients_sha256_file`, which only root can write. There are two digests while a file is being replaced, so
that a crash at any moment leaves a file that is named.

    pin = pin_of(settings, config)
    pin.write([old, new]); ...replace the file...; pin.write([new])
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import yaml

from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import InputError

from ..settings import GatewaySettings

REMEDY = "restore the file, or approve it with `sovctl gateway keys pin`"
_KEY = "clients_sha256"
_ENTRY = re.compile(rf"^{_KEY}:.*\n(?:[ \t-].*\n)*", re.MULTILINE)
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Pin(Protocol):
    """Place that names the digests of a clients file."""

    def read(self) -> Sequence[str]:
        """Return the digests; none if nothing names them yet.

        Raises:
            InputError: the place is unreadable.
        """

    def write(self, digests: Sequence[str]) -> None:
        """Replace the digests.

        Raises:
            InputError: the place is not writable or has an unknown format.
        """


def digest_of(content: bytes) -> str:
    """Return the digest of a clients file."""
    return sha256(content).hexdigest()


def require_pinned(content: bytes, digests: Sequence[str], *, where: str) -> None:
    """Check that the digest of a clients file is named.

    Args:
        digests: the named ones.

    Raises:
        InputError: another file, or no digest is named; the file gives no access.
    """
    if digest_of(content) in digests:
        return
    named = " or ".join(f"{each[:12]}..." for each in digests) or "none, because the settings name no digest"
    raise InputError(
        f"expected the file with SHA-256 {named}, got {digest_of(content)[:12]}...", where=where, hint=REMEDY
    )


def pinned_local_clients(settings: GatewaySettings) -> Sequence[str]:
    """Return the digests of `access.local_clients_file`; none if the file of digests is absent.

    Raises:
        InputError: the file of digests is unreadable.
    """
    path = settings.access.local_clients_sha256_file
    return [] if path is None else PinFile(path).read()


@dataclass(frozen=True)
class PinFile:
    """A file of digests, one per line."""

    path: Path

    def read(self) -> Sequence[str]:
        """See `Pin`."""
        try:
            return [line for line in self.path.read_text(encoding="ascii").split() if _DIGEST.fullmatch(line)]
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise InputError("unreadable", where=str(self.path)) from error

    def write(self, digests: Sequence[str]) -> None:
        """See `Pin`."""
        try:
            write_atomic(self.path, "".join(f"{each}\n" for each in digests), mode=0o644)
        except OSError as error:
            raise InputError(
                f"not writable: {error.strerror}", where=str(self.path), hint="run the command as root"
            ) from error


@dataclass(frozen=True)
class PinInSettings:
    """The key `clients_sha256` of a gateway.yaml, whose other lines stay unchanged."""

    path: Path

    def read(self) -> Sequence[str]:
        """See `Pin`."""
        try:
            named = yaml.safe_load(self.path.read_text(encoding="utf-8")).get(_KEY, [])
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise InputError("unreadable", where=str(self.path)) from error
        return [named] if isinstance(named, str) else named

    def write(self, digests: Sequence[str]) -> None:
        """See `Pin`."""
        try:
            text, found = self.path.read_text(encoding="utf-8"), self.path.stat()
            changed = _with_digests(text, digests)
            if {**yaml.safe_load(changed), _KEY: None} != {**yaml.safe_load(text), _KEY: None}:
                raise InputError(f"cannot edit this format; set {_KEY} yourself", where=str(self.path))
            write_atomic(self.path, changed, mode=found.st_mode & 0o777)
            if os.geteuid() == 0:
                os.chown(self.path, found.st_uid, found.st_gid)
        except OSError as error:
            raise InputError(f"not writable: {error.strerror}", where=str(self.path)) from error


def pin_of(settings: GatewaySettings, config: Path) -> Pin:
    """Return the place that names the digests of the file that `sovctl gateway keys` changes."""
    path = settings.access.local_clients_sha256_file
    return PinInSettings(config) if path is None else PinFile(path)


def _with_digests(text: str, digests: Sequence[str]) -> str:
    quoted = ", ".join(f"'{each}'" for each in digests)  # YAML reads digits without quotes as a number
    entry = f"{_KEY}: {quoted}\n" if len(digests) == 1 else f"{_KEY}: [{quoted}]\n"
    text = text if text.endswith("\n") else text + "\n"
    return _ENTRY.sub(entry, text, count=1) if _ENTRY.search(text) else text + entry
