"""Options of `sovctl lock`, and their values from the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from sovctl.support.errors import InputError

from ..catalog.operating_systems import load_operating_systems
from .inventory import SiteInventory, read_inventory
from .licences import Acceptance, read_acceptances
from .public_key import read_public_key
from .wheels import WheelSources

KINDS = ("packages", "wheels", "models")


@dataclass(frozen=True)
class Options:
    """Options of a lock.

    Args:
        system: id of the operating system of all nodes, without an inventory.
        machine: architecture of all nodes, without an inventory.
        sources: file of package sources by id of the operating system; absent: apt's of the builder.
        own_files: folder of files that may not be redistributed.
        models: folder of model folders.
        omit: of `KINDS`; recorded in the lock.
        check: whether to check the closure.
        update: package that alone may move.
        may_remove: packages of the nodes that an installation may remove; a part records them.
    """

    system: str | None = None
    machine: str = "x86_64"
    sources: Mapping[str, Path] = field(default_factory=dict)
    own_files: Path | None = None
    models: Path | None = None
    accepted: tuple[Acceptance, ...] = ()
    wheels: WheelSources = field(default_factory=WheelSources)
    omit: frozenset[str] = frozenset()
    check: bool = True
    update: str | None = None
    may_remove: frozenset[str] = frozenset()


def inventory_of(file: Path | None, key: Path | None) -> SiteInventory | None:
    """Return the verified inventory; None without a file.

    Raises:
        InputError: a file without key, or see `read_inventory`.
    """
    if file is None:
        return None
    if key is None:
        hint = "pass the .vkey file of the site, which came on a second way"
        raise InputError("an inventory needs the public key of the site", where="--inventory-key", hint=hint)
    return read_inventory(file, read_public_key(key))


def accepted_of(file: Path | None) -> tuple[Acceptance, ...]:
    """Return the accepted licences; none without a file."""
    return read_acceptances(file) if file else ()


def sources_of(values: Sequence[str]) -> dict[str, Path]:
    """Return the files of package sources by operating system.

    Raises:
        InputError: a value is not `SYSTEM=FILE`.
    """
    known, found = load_operating_systems(), {}
    for value in values:
        system, separator, file = value.partition("=")
        if not separator or system not in known:
            hint = f"SYSTEM is one of {', '.join(known)}"
            raise InputError(f"expected SYSTEM=FILE, got {value!r}", where="--sources", hint=hint)
        found[system] = Path(file)
    return found


def wheels_of(index: str | None, links: Sequence[str]) -> WheelSources:
    """Return the places of wheels.

    Raises:
        InputError: a URL contains credentials, which the lock would record.
    """
    for option, value in [("--index", index or ""), *(("--find-links", each) for each in links)]:
        if "@" in urlsplit(value).netloc:
            raise InputError("the URL contains credentials", where=option, hint="use a mirror without login")
    return WheelSources(index, tuple(links))


def kinds_of(values: Sequence[str]) -> frozenset[str]:
    """Return the kinds to leave out.

    Raises:
        InputError: an unknown kind.
    """
    if unknown := sorted(set(values) - set(KINDS)):
        raise InputError(f"expected one of {', '.join(KINDS)}, got {unknown[0]!r}", where="--omit", hint="correct it")
    return frozenset(values)
