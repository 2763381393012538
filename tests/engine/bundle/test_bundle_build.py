"""A built bundle contains each content once, and python-tuf alone verifies it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from bundle_specimens import BUILDER, CHUNK_BYTES, Builder, specimen_files
from hypothesis import given
from hypothesis import strategies as st
from tuf.api.exceptions import DownloadHTTPError
from tuf.ngclient import Updater, UpdaterConfig
from tuf.ngclient.fetcher import FetcherInterface

from sovctl.engine.bundle import manifest as manifests
from sovctl.engine.bundle.manifest import Manifest
from sovctl.engine.bundle.medium import Medium
from sovctl.engine.bundle.packing import pack
from sovctl.engine.bundle.root_words import parse_digest, to_words
from sovctl.engine.bundle.store import Store
from sovctl.engine.bundle.trust import Refused, open_bundle
from sovctl.engine.bundle.verification import verify
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError


@pytest.fixture
def builder(tmp_path: Path) -> Builder:
    return Builder(tmp_path)


def assembled(store: Store, content: manifests.Content, manifest: Manifest) -> bytes:
    """The bytes of a content, read from chunks."""
    found = b""
    for part in content.parts or ():
        data = (store.root / manifest.chunks[part.chunk].path).read_bytes()
        found += data[part.offset : part.offset + part.length]
    return found


def test_every_file_is_in_the_chunks_once(builder: Builder) -> None:
    files = specimen_files()
    store, manifest = builder.build(files)
    assert store.manifest() == manifest
    for each in manifest.files:
        assert assembled(store, manifest.contents[each.sha256], manifest) == files[each.path]
    assert sum(each.size for each in manifest.chunks) == sum(map(len, set(files.values())))
    assert all(each.size <= CHUNK_BYTES for each in manifest.chunks)


class FolderFetcher(FetcherInterface):
    """Files of a folder, without code of sovctl."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _fetch(self, url: str):  # type: ignore[no-untyped-def]
        path = self.folder / url.removeprefix("file:///")
        if not path.exists():
            raise DownloadHTTPError("absent", 404)
        yield path.read_bytes()


def test_plain_python_tuf_verifies_the_bundle(builder: Builder, tmp_path: Path) -> None:
    store, manifest = builder.build(specimen_files())
    updater = Updater(
        str(tmp_path / "client"),
        "file:///metadata/",
        str(tmp_path),
        "file:///",
        FolderFetcher(store.root),
        UpdaterConfig(prefix_targets_with_hash=False),
        bootstrap=(builder.trust / "1.root.json").read_bytes(),
    )
    updater.refresh()
    for path in (manifests.NAME, *(each.path for each in manifest.chunks)):
        info = updater.get_targetinfo(path)
        assert info is not None
        got = Path(updater.download_target(info, str(tmp_path / "got"))).read_bytes()
        assert got == (store.root / path).read_bytes()


def test_an_interrupted_build_leaves_no_complete_bundle(builder: Builder) -> None:
    store, _ = builder.build(specimen_files())
    builder.build(specimen_files(seed=2), signers=[BUILDER, "anna"])
    assert not store.is_signed()
    with pytest.raises(Refused, match="metadata is missing"):
        open_bundle([Medium(store.root)], root_sha256=builder.root_sha256, memory=builder.folder / "memory")


def test_chunks_of_the_bundle_before_are_removed(builder: Builder) -> None:
    builder.build(specimen_files())
    store, manifest = builder.build(specimen_files(seed=2))
    assert manifest.sequence == 2
    assert Medium(store.root).chunks == {each.sha256 for each in manifest.chunks}


def test_a_file_that_differs_from_the_lock_is_refused(builder: Builder) -> None:
    files = specimen_files()
    store, _ = builder.build(files)
    target = builder.mirror / "apt/package-3_1.0_amd64.deb"
    lock = builder.lock(files)
    target.write_bytes(random.Random(9).randbytes(target.stat().st_size))
    with pytest.raises(InputError, match="differs from its SHA-256 in the lock"):
        _build_again(builder, lock, store)
    target.write_bytes(b"short")
    with pytest.raises(InputError, match="expected 9003 bytes as in the lock, got 5"):
        _build_again(builder, lock, store)
    target.unlink()
    target.symlink_to("/etc/hostname")
    with pytest.raises(InputError, match="unreadable"):
        _build_again(builder, lock, store)


def _build_again(builder: Builder, lock: Path, store: Store) -> None:
    from sovctl.engine.bundle.build import Request, build
    from sovctl.engine.bundle.lock_file import read_lock

    locked, digest = read_lock(lock)
    build(store, Request(builder.mirror, locked, digest, builder.trust, "x", chunk_bytes=CHUNK_BYTES), now=builder.now)


@pytest.mark.parametrize(
    "path",
    ["../x", "/etc/x", "a//b", "a/./b", ".hidden", "-rf", "a\\b", "a\nb", "", "a/", "é", "x" * 256, "a b", "CON\x00"],
)
def test_odd_paths_are_refused(path: str, builder: Builder) -> None:
    with pytest.raises(InputError):
        manifests.check_paths([path], where="lock")


def test_a_path_is_not_a_file_and_a_folder(builder: Builder) -> None:
    with pytest.raises(InputError, match="is a file and a folder"):
        manifests.check_paths(["a/b", "a"], where="lock")


@given(
    sizes=st.lists(st.integers(0, 300), max_size=30),
    chunk_bytes=st.integers(1, 100),
)
def test_packing_keeps_every_byte_in_order(sizes: list[int], chunk_bytes: int) -> None:
    contents = [(str(number), size) for number, size in enumerate(sizes)]
    chunks = list(pack(contents, chunk_bytes=chunk_bytes))
    assert all(0 < sum(part.length for part in chunk) <= chunk_bytes for chunk in chunks)
    for name, size in contents:
        parts = [part for chunk in chunks for part in chunk if part.content == name]
        assert [part.offset for part in parts] == [sum(each.length for each in parts[:at]) for at in range(len(parts))]
        assert sum(part.length for part in parts) == size


@given(st.binary(min_size=32, max_size=32))
def test_words_are_the_whole_digest(data: bytes) -> None:
    words = to_words(data.hex())
    assert len(words.split()) == 16
    assert parse_digest(words, where="test") == data.hex() == parse_digest(data.hex(), where="test")


def test_a_mistyped_word_is_refused() -> None:
    words = to_words(sha256_hex("root"))
    with pytest.raises(InputError, match="not a word"):
        parse_digest("xxxxx " + words.split(" ", 1)[1], where="test")
    with pytest.raises(InputError, match="expected 16 words"):
        parse_digest("lusab babad", where="test")


def test_verify_lists_missing_and_flipped_chunks(builder: Builder) -> None:
    store, manifest = builder.build(specimen_files())
    medium = store.root
    flipped, lost = (store.root / each.path for each in manifest.chunks[:2])
    data = bytearray(flipped.read_bytes())
    data[5] ^= 1
    flipped.write_bytes(data)
    lost.unlink()
    found = verify([Medium(medium)], root_sha256=builder.root_sha256)
    assert found.damaged == ((medium, flipped.name),)
    assert set(found.missing) == {flipped.name, lost.name}
    assert found.bundle.signers == ("anna", "ben")
