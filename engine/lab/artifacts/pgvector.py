"""Package of pgvector for the PostgreSQL of Debian 12, which Debian 13 has and Debian 12 lacks.

It is built from the files of `pgvector-0.8.0.txt` in a layer over the image, with PostgreSQL's own makefiles, and
contains what Debian's package contains, without just-in-time code (`with_llvm=no`), which needs the compiler of LLVM.
"""

from __future__ import annotations

from pathlib import Path

from sovctl.support.atomic_files import sync_folder
from sovctl.support.canonical_json import digest, sha256_hex

from .. import layout
from ..linux import mounts
from ..linux.process import run
from . import debian_mirror as mirror
from . import locked_files
from . import node_image as image
from .node_image import Progress
from .wheelhouse import LOCKS_FOLDER

LOCK = LOCKS_FOLDER / "pgvector-0.8.0.txt"
POSTGRESQL = 15
VERSION = "0.8.0-1~sovctl12+1"
"""Older than Debian's own build of 0.8.0-1, which an upgrade to Debian 13 then installs (Debian policy 5.6.12)."""
_RECIPE = 1  # increase it with each change of the steps below
_CONTROL = """\
Package: postgresql-{postgresql}-pgvector
Version: {version}
Architecture: {architecture}
Maintainer: sovctl lab <lab@sovctl.example>
Depends: postgresql-{postgresql}, libc6
Section: database
Priority: optional
Homepage: https://github.com/pgvector/pgvector
Description: vector similarity search for PostgreSQL, built by the sovctl lab from Debian's source package
"""
# No optimization for the processor of this machine (OPTFLAGS), as in debian/rules: nodes may have another one.
_BUILD = (
    f"export with_llvm=no OPTFLAGS= PG_CONFIG=/usr/lib/postgresql/{POSTGRESQL}/bin/pg_config && "
    "make -e -s -j2 && make -e -s install DESTDIR=/build/tree"
)


def package_folder() -> Path:
    """Return the folder of the package in the cache, which may not exist."""
    recipe = [_RECIPE, image.image_name(), sha256_hex(LOCK.read_bytes()), VERSION]
    return layout.cache_folder() / f"pgvector-{digest(recipe)[:16]}"


def ensure_package(base: Path, *, mirror_uri: str | None, progress: Progress) -> Path:
    """Return the folder with the package; build it if the cache lacks it (about a minute).

    Args:
        base: the image.

    Raises:
        LabFailure: the mirror is unreachable, lacks a file of the lock, or the build failed.
    """
    target = package_folder()
    if target.exists():
        return target
    progress(f"building {LOCK.stem} for PostgreSQL {POSTGRESQL}")
    source = mirror.find(mirror_uri)
    folder = layout.cache_folder() / ".making-pgvector"
    mounts.remove_tree(folder)
    mounts.mount_image(base, folder / "image")
    root = mounts.mount_overlay(folder / "node", [folder / "image"])
    _install_tools(root, source)
    build = root / "build"
    (build / "files").mkdir(parents=True)
    locked_files.fetch(LOCK, build / "files", sources=[source.main], hint="use a complete Debian mirror")
    _within(root, f"cd /build && tar -xf files/pgvector_*.orig.tar.gz && cd pgvector-* && {_BUILD}", "build pgvector")
    (build / "tree" / "DEBIAN").mkdir()
    values = {"postgresql": POSTGRESQL, "version": VERSION, "architecture": image.architecture()}
    (build / "tree/DEBIAN/control").write_text(_CONTROL.format(**values))
    file = f"postgresql-{POSTGRESQL}-pgvector_{VERSION}_{values['architecture']}.deb"
    (folder / "made").mkdir()
    run(
        ["dpkg-deb", "--root-owner-group", "--build", build / "tree", folder / "made" / file],
        purpose="pack pgvector",
    )
    mounts.unmount_below(folder / "node")
    sync_folder(folder / "made")
    (folder / "made").rename(target)
    sync_folder(target.parent)
    mounts.remove_tree(folder)
    return target


def _install_tools(root: Path, source: mirror.Mirror) -> None:
    """Install a compiler and PostgreSQL, and unpack the headers: their package would install the compiler of LLVM."""
    image.prepare_apt(root, source)
    tools = ("gcc", "libc6-dev", "make", f"postgresql-client-{POSTGRESQL}")
    image.apt(root, "install", "--no-install-recommends", *tools, purpose="install a compiler")
    headers = f"postgresql-server-dev-{POSTGRESQL}"
    image.apt(root, "install", "--download-only", "--no-install-recommends", headers, purpose="fetch headers")
    archives = "/var/cache/apt/archives"
    unpack = f"for name in {headers} libpq-dev; do dpkg-deb -x {archives}/$name\\_*.deb /; done"
    _within(root, unpack, "unpack headers")


def _within(root: Path, command: str, purpose: str) -> None:
    run(
        [*image.within(root), "sh", "-ec", command],
        purpose=purpose,
        environment={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
    )
