"""This very sovctl as a wheel, so that a node runs exactly the code of its controller, by digest.

Building it from the installed files needs no build tool and no network; names sorted and times fixed, the same code
always gives the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile

from sovctl.support.package_files import package_folder

PACKAGE = package_folder()
PARTS = ("cli", "compliance", "gateway", "support")
"""What a gateway node needs: the service, its ledger, and the command that verifies it."""
EPOCH = (1980, 1, 1, 0, 0, 0)  # the first time a zip file can hold


def version() -> str:
    """Of the running sovctl."""
    from sovctl import __version__

    return __version__


def file_name() -> str:
    """Of the wheel."""
    return f"sovctl-{version()}-py3-none-any.whl"


def build() -> bytes:
    """The wheel: our files and the metadata an installer needs."""
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
    """SHA-256 over names and contents of our files, and our version: what a plan compares.

    Args:
        parts: folders of the package; those that the wheel holds if not given.
    """
    files = sorted(_files(parts).items())
    listing = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files)
    return hashlib.sha256(listing.encode()).hexdigest()


def _files(parts: tuple[str, ...] = PARTS) -> dict[str, bytes]:
    files = {
        f"sovctl/{path.relative_to(PACKAGE).as_posix()}": path.read_bytes()
        for part in parts
        for path in sorted((PACKAGE / part).rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    }
    return files | {"sovctl/__init__.py": f'__version__ = "{version()}"\n'.encode()}


def _hash(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
