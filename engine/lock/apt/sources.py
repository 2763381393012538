"""Package sources of a lock: a file of the operator, or the builder's own sources if it runs the same release.

Every entry needs `signed-by` with the key of its distribution, because keys that the builder trusts globally have no
effect in private folders. Options that skip the verification of signatures are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import InputError

from ...catalog.operating_systems import SupportedSystem
from ...facts.operating_system import parse_os_release
from ...facts.packages.apt_sources import FILE_MARK, parse_source_files
from ...facts.unreadable import Unreadable

LIMIT_BYTES = 1 << 20
_ETC = Path("/etc/apt")


@dataclass(frozen=True)
class AptSources:
    """Source files by name, in the format of apt."""

    files: tuple[tuple[str, str], ...]


def read_sources(path: Path) -> AptSources:
    """Return the sources of a `.sources` or `.list` file.

    Raises:
        InputError: absent, without an entry, or an entry has no key, has credentials, or skips verification.
    """
    if path.suffix not in (".sources", ".list"):
        raise InputError("expected a name that ends in .sources or .list", where=str(path), hint="see sources.list(5)")
    try:
        text = read_bounded(path, LIMIT_BYTES).decode()
    except (OSError, UnicodeDecodeError):
        raise InputError("unreadable package sources", where=str(path), hint="see sources.list(5)") from None
    return _checked([(f"site{path.suffix}", text)], where=str(path))


def own_sources(system: SupportedSystem, root: Path = Path("/")) -> AptSources:
    """Return the builder's own sources.

    Raises:
        InputError: the builder runs another release than the nodes; see also `read_sources`.
    """
    release = parse_os_release((root / "etc/os-release").read_text()) if (root / "etc/os-release").is_file() else {}
    hint = f"pass --sources {system.id}=FILE with the sources of {system.title}"
    is_same = release.get("ID") == system.match.id and release.get("VERSION_ID") == system.match.version
    if not is_same or system.match.dgx is not None:
        raise InputError(f"this machine does not run {system.title}, so its package sources cannot be used", hint=hint)
    etc = root / "etc/apt"
    paths = [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]
    files = [(path.name, path.read_text()) for path in paths if path.suffix in (".list", ".sources") and path.is_file()]
    if not files:
        raise InputError("this machine has no package sources", where=str(_ETC), hint=hint)
    return _checked(files, where=str(_ETC))


def _checked(files: list[tuple[str, str]], *, where: str) -> AptSources:
    try:
        entries = parse_source_files("\n".join(f"{FILE_MARK}{name}\n{text}" for name, text in files))
    except Unreadable as error:
        raise InputError(error.message, where=f"{where}: {error.where}", hint="see sources.list(5)") from None
    if not entries:
        raise InputError("no enabled package source", where=where, hint="see sources.list(5)")
    for entry in entries:
        place = f"{where}: {entry.file}"
        if entry.forced:
            raise InputError(f"`{entry.forced[0]}` skips the verification of signatures", where=place, hint="remove it")
        if entry.signed_by is None:
            hint = "add Signed-By with the keyring of the distribution, such as /usr/share/keyrings/..."
            raise InputError("a package source has no key", where=place, hint=hint)
        if any("@" in uri.partition("://")[2].partition("/")[0] for uri in entry.uris):
            raise InputError("a package source contains credentials", where=place, hint="use a mirror without login")
    return AptSources(tuple(files))
