"""Own files: packages and firmware whose licence forbids redistribution, from a folder of the operator.

    own/SHA256SUMS                               # sha256sum(1) format; digests from the vendor, on a second way
    own/debian-12/nvidia-open_580.126.20-1_amd64.deb
    own/bios/H100_VBIOS.bin

Packages in a folder with the id of an operating system take part in the solution of its nodes. A file that SHA256SUMS
does not list, or whose digest differs, is refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import InputError

from . import programs
from .part import LockedPackage

SUMS = "SHA256SUMS"
_LINE = re.compile(r"^(?P<sha256>[0-9a-f]{64}) [ *](?P<path>\S.*)$")


@dataclass(frozen=True)
class OwnFile:
    """One file, verified against its expected SHA-256."""

    path: str
    file: Path
    size: int
    sha256: str


def read_own_files(folder: Path) -> tuple[OwnFile, ...]:
    """Return all files of the folder, sorted by path.

    Raises:
        InputError: SHA256SUMS is absent or invalid, or a file is not as listed.
    """
    expected = _expected(folder / SUMS)
    found = {}
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder).as_posix()
        if file.is_symlink():
            raise InputError("a link is not permitted", where=str(file), hint="replace it by the file")
        if file.is_file() and path != SUMS:
            with file.open("rb") as data:
                digest = hashlib.file_digest(data, "sha256").hexdigest()
            if expected.get(path) != digest:
                raise InputError(
                    f"expected SHA-256 {expected.get(path, 'in ' + SUMS)}, got {digest}",
                    where=str(file),
                    hint=f"get the file from its vendor again, or add the vendor's digest to {SUMS}",
                )
            found[path] = OwnFile(path, file, file.stat().st_size, digest)
    if absent := sorted(expected.keys() - found.keys()):
        raise InputError(
            f"no such file: {absent[0]}", where=str(folder / SUMS), hint="add the file, or remove its line"
        )
    return tuple(found.values())


def index_of_debs(files: tuple[OwnFile, ...], system: str) -> str:
    """Return an apt index of the .deb files for an operating system.

    Args:
        system: id of the operating system, the first folder of a path.

    Raises:
        InputError: a file is not a Debian package.
    """
    stanzas = []
    for each in files:
        if each.path.startswith(f"{system}/") and each.path.endswith(".deb"):
            done = programs.run(["dpkg-deb", "--field", str(each.file)], extra={}, hint="apt-get install dpkg")
            if done.exit_code != 0:
                raise InputError("not a Debian package", where=str(each.file), hint="get the file again")
            name = each.path.partition("/")[2]
            fields = f"Filename: ./{name}\nSize: {each.size}\nSHA256: {each.sha256}\n"
            stanzas.append(done.stdout.rstrip("\n") + "\n" + fields)
    return "\n".join(stanzas)


def others(files: tuple[OwnFile, ...], packaged: Mapping[str, str]) -> tuple[LockedPackage, ...]:
    """Return the files that no solver chooses: firmware and tools.

    Args:
        packaged: suffix of packages by id of the operating system.
    """
    return tuple(
        LockedPackage(
            name=each.path,
            version="",
            arch="",
            path=f"own/{each.path}",
            size=each.size,
            sha256=each.sha256,
            source="own file",
            url="",
            licence="vendor",
            redistributable="own-file",
        )
        for each in files
        if not each.path.endswith(packaged.get(each.path.partition("/")[0], "\0"))
    )


def _expected(path: Path) -> dict[str, str]:
    try:
        lines = read_bounded(path, 16 << 20).decode().splitlines()
    except (OSError, UnicodeDecodeError):
        hint = f"write the digests that the vendors published: sha256sum format, {SUMS}"
        raise InputError("cannot read the expected digests", where=str(path), hint=hint) from None
    found = {}
    for number, line in enumerate(lines, 1):
        match = _LINE.match(line)
        if match is None or ".." in match["path"].split("/") or match["path"].startswith("/"):
            raise InputError("expected `sha256  path`", where=f"{path}:{number}", hint="see sha256sum(1)")
        found[match["path"].removeprefix("./")] = match["sha256"]
    return found
