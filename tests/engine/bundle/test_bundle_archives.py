"""Archives that expand too much are refused, as zip, compressed file and Debian package; usual packages are not."""

from __future__ import annotations

import bz2
import gzip
import lzma
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from sovctl.engine.bundle.intake import archives

ZEROS = bytes(1 << 20)
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "bz2": bz2.compress,
    "zst": zstandard.compress,
}


def package(folder: Path, content: bytes, compression: str) -> Path:
    """Build a Debian package with one file, by dpkg-deb."""
    root = folder / "root"
    (root / "DEBIAN").mkdir(parents=True)
    (root / "DEBIAN" / "control").write_text(
        "Package: a\nVersion: 1\nArchitecture: all\nMaintainer: a <a@example.com>\nDescription: a\n"
    )
    (root / "file").write_bytes(content)
    target = folder / "a.deb"
    subprocess.run(
        ["dpkg-deb", f"-Z{compression}", "--root-owner-group", "--build", root, target], check=True, capture_output=True
    )
    return target


@pytest.fixture(autouse=True)
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Free size of 64 kB instead of 64 MB, so that bombs are small."""
    monkeypatch.setattr(archives, "_FREE_BYTES", 1 << 16)


@pytest.mark.parametrize("compression", ["gzip", "xz", "zstd", "none"])
def test_usual_packages_are_accepted(tmp_path: Path, compression: str) -> None:
    assert archives.archive_problem(package(tmp_path, b"text\n" * 1000, compression)) is None


@pytest.mark.parametrize("compression", ["gzip", "xz", "zstd"])
def test_a_package_that_is_a_bomb_is_refused(tmp_path: Path, compression: str) -> None:
    problem = archives.archive_problem(package(tmp_path, ZEROS, compression))
    assert problem is not None
    assert "compression bomb" in problem


@pytest.mark.parametrize("name", COMPRESSORS)
def test_compressed_bombs_and_damaged_files_are_refused(tmp_path: Path, name: str) -> None:
    file = tmp_path / f"a.{name}"
    file.write_bytes(COMPRESSORS[name](ZEROS))
    assert "compression bomb" in (archives.archive_problem(file) or "")
    file.write_bytes(COMPRESSORS[name](b"text" * 100)[:-4])
    assert archives.archive_problem(file) == (None if name == "zst" else "invalid compressed file")  # zstd: no end mark
    file.write_bytes(COMPRESSORS[name](b"text"))
    assert archives.archive_problem(file) is None


def test_a_zip_bomb_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", ZEROS)
    assert "zip bomb" in (archives.archive_problem(tmp_path / "a.whl") or "")


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:80],
        lambda data: data.replace(b"`\n", b"xx", 1),
        lambda data: data[:56] + b"9999999999" + data[66:],
        lambda data: data[:8] + data[8:].split(b"control", 1)[0] * 20,
    ],
    ids=["cut", "header", "length", "members"],
)
def test_a_damaged_package_is_refused(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    file = package(tmp_path, b"text", "gzip")
    file.write_bytes(damage(file.read_bytes()))
    assert archives.archive_problem(file) == "invalid Debian package"


def test_zstd_without_its_library_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "zstandard", None)
    with pytest.raises(archives.MissingTool, match="zstd"):
        archives.archive_problem(package(tmp_path, b"text", "zstd"))
