"""Builds a wheel of the running sovctl, so that a node runs the code of its controller, identified by digest.

The wheel is built from the installed files, without build tools or network. The same code gives the same bytes,
because names are sorted and times are fixed.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import zipfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from sovctl.support.package_files import package_folder

PACKAGE = package_folder()
PARTS = ("cli", "compliance", "gateway", "support")
"""Folders that a gateway node needs: the service, its ledger, and the command that verifies the ledger."""
_TOP = f"{PACKAGE}/"
_State = tuple[str, int, int, int, int]
"""Path, inode, size, times of change of contents and of the inode."""
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time of the zip format


def version() -> str:
    """Return the version of the running sovctl."""
    from sovctl import __version__

    return __version__


def file_name() -> str:
    """Return the file name of the wheel."""
    return f"sovctl-{version()}-py3-none-any.whl"


def build() -> bytes:
    """Return the wheel: sovctl's files, and the metadata that an installer needs."""
    files = _files()
    info = f"sovctl-{version()}.dist-info"
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: sovctl\nVersion: {version()}\n".encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: sovctl\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/entry_points.txt"] = b"[console_scripts]\nsovctl = sovctl.cli.main:main\n"
    record = "".join(f"{name},sha256={_hash(data)},{len(data)}\n" for name, data in sorted(files.items()))
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    return out.getvalue()


def digest(parts: tuple[str, ...] = PARTS) -> str:
    """Return the SHA-256 of the names and contents of sovctl's files, and of its version.

    Files are read again only if one was added, removed or written since the last call.

    Args:
        parts: folders of the package; by default those of the wheel.
    """
    return _digest(parts, tuple(_states(parts)))


@lru_cache(maxsize=8)
def _digest(parts: tuple[str, ...], _states: tuple[_State, ...]) -> str:
    files = sorted(_files(parts).items())
    listing = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files)
    return hashlib.sha256(listing.encode()).hexdigest()


def _files(parts: tuple[str, ...] = PARTS) -> dict[str, bytes]:
    files = {f"sovctl/{path.removeprefix(_TOP)}": Path(path).read_bytes() for path, *_ in _states(parts)}
    return files | {"sovctl/__init__.py": f'__version__ = "{version()}"\n'.encode()}


def _states(parts: tuple[str, ...]) -> Iterator[_State]:
    """Yield the path and the state of every file, in the order of the disk. Links to folders are not followed."""
    for part in parts:
        for folder, _, names in os.walk(PACKAGE / part):
            for path in (f"{folder}/{name}" for name in names if not name.endswith(".pyc")):
                found = os.stat(path)  # noqa: PTH116 - a path object for each of 1,000 files takes three times as long
                yield path, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _hash(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
