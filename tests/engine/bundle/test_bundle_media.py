"""Media: planned before the first byte, each complete with metadata, read back; deltas omit published contents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bundle_specimens import CHUNK_BYTES, SITE, Builder, specimen_files

from sovctl.compliance.signing import SigningKey
from sovctl.engine.bundle import media, published
from sovctl.engine.bundle.manifest import Chunk
from sovctl.engine.bundle.medium import Medium
from sovctl.engine.bundle.root_words import to_words
from sovctl.engine.bundle.verification import missing_text, read_missing, verify
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError, MissingTool

SIZE = 1_300_000


@pytest.fixture
def builder(tmp_path: Path) -> Builder:
    return Builder(tmp_path)


def sticks(folder: Path, count: int) -> list[Path]:
    return [folder / f"stick{number}" for number in range(count)]


def test_media_in_any_order_are_one_bundle(builder: Builder, tmp_path: Path) -> None:
    store, manifest = builder.build(specimen_files())
    folders = sticks(tmp_path, 5)
    written = media.write(store, folders, size_bytes=SIZE)
    used = folders[: len(written)]
    assert len(used) > 1
    assert [each for part in written for each in part] == list(manifest.chunks)
    found = verify([Medium(each) for each in reversed(used)], root_sha256=builder.root_sha256)
    assert (found.missing, found.damaged) == ((), ())
    for folder, part in zip(used, written, strict=False):
        assert (folder / "chunks.txt").read_text().split() == [each.sha256 for each in part]
        readme = " ".join((folder / "README.txt").read_text().split())
        assert to_words(builder.root_sha256) in readme
        assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < SIZE
    assert not any(each.exists() for each in folders[len(used) + 1 :])


def test_one_medium_alone_lists_what_is_missing_and_it_is_written_again(builder: Builder, tmp_path: Path) -> None:
    store, _ = builder.build(specimen_files())
    folders = sticks(tmp_path, 5)
    written = media.write(store, folders, size_bytes=SIZE)
    found = verify([Medium(folders[0])], root_sha256=builder.root_sha256)
    assert set(found.missing) == {each.sha256 for part in written[1:] for each in part}
    (tmp_path / "missing.txt").write_text(missing_text(found.missing))
    wanted = read_missing(tmp_path / "missing.txt")
    media.write(store, [tmp_path / "again"], size_bytes=8 * SIZE, only=wanted)
    assert Medium(tmp_path / "again").chunks == wanted
    assert not verify([Medium(folders[0]), Medium(tmp_path / "again")], root_sha256=builder.root_sha256).missing


def test_too_few_media_are_refused_before_writing(builder: Builder, tmp_path: Path) -> None:
    store, _ = builder.build(specimen_files())
    with pytest.raises(InputError, match=r"expected \d media of 1 MB, got 1"):
        media.write(store, [tmp_path / "stick"], size_bytes=SIZE)
    assert not (tmp_path / "stick").exists()


def test_a_full_disk_is_refused_before_writing(
    builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, _ = builder.build(specimen_files())
    monkeypatch.setattr("sovctl.engine.bundle.media.shutil.disk_usage", lambda path: type("Usage", (), {"free": 9999}))
    with pytest.raises(MissingTool, match="of free space"):
        media.write(store, [tmp_path / "stick"], size_bytes=8 * SIZE)
    assert list((tmp_path / "stick").iterdir()) == []


def test_other_files_on_a_medium_are_kept_and_refused(builder: Builder, tmp_path: Path) -> None:
    store, _ = builder.build(specimen_files())
    (tmp_path / "stick").mkdir()
    (tmp_path / "stick" / "thesis.doc").write_text("the only copy")
    with pytest.raises(InputError, match=r"unexpected file on the medium: 'thesis.doc'"):
        media.write(store, [tmp_path / "stick"], size_bytes=8 * SIZE)
    assert [each.name for each in (tmp_path / "stick").iterdir()] == ["thesis.doc"]


def test_an_earlier_bundle_on_a_medium_is_replaced(builder: Builder, tmp_path: Path) -> None:
    store, _ = builder.build(specimen_files())
    media.write(store, [tmp_path / "stick"], size_bytes=8 * SIZE)
    _, manifest = builder.build(specimen_files(seed=2))
    media.write(store, [tmp_path / "stick"], size_bytes=8 * SIZE)
    assert Medium(tmp_path / "stick").chunks == {each.sha256 for each in manifest.chunks}
    assert verify([Medium(tmp_path / "stick")], root_sha256=builder.root_sha256).bundle.manifest.sequence == 2


def test_an_unsigned_bundle_is_not_written(builder: Builder, tmp_path: Path) -> None:
    store, _ = builder.build(specimen_files(), signers=["anna"])
    with pytest.raises(InputError, match="signatures are missing"):
        media.write(store, [tmp_path / "stick"], size_bytes=8 * SIZE)


def test_a_chunk_larger_than_a_medium_is_refused() -> None:
    with pytest.raises(InputError, match="does not fit a medium"):
        media.plan([Chunk(sha256="0" * 64, size=64 << 20)], size_bytes=64_000_000, metadata_bytes=0)


def test_a_delta_omits_published_contents(builder: Builder, tmp_path: Path) -> None:
    files = specimen_files()
    key = SigningKey.generate()
    path = tmp_path / "inventory.json"
    published.write(path, SITE, 1, {sha256_hex(each) for each in files.values()}, key, now=builder.now)
    have = published.read(path, key.public, site=SITE)
    new = files | {"apt/new_1.0_amd64.deb": b"n" * 5000, "apt/package-1_1.0_amd64.deb": b"changed" * 500}
    store, manifest = builder.build(new, at_site=have.contents)
    assert sum(each.size for each in manifest.chunks) == 5000 + 3500
    assert len(manifest.files) == len(new)
    assert verify([Medium(store.root)], root_sha256=builder.root_sha256).missing == ()


@pytest.mark.parametrize("change", ["unsigned", "other key", "altered", "other site", "not JSON"])
def test_an_inventory_without_the_signature_of_the_site_is_refused(
    change: str, builder: Builder, tmp_path: Path
) -> None:
    key, path = SigningKey.generate(), tmp_path / "inventory.json"
    published.write(path, "other" if change == "other site" else SITE, 1, {"0" * 64}, key, now=builder.now)
    document = json.loads(path.read_text())
    if change == "unsigned":
        del document["signature"]
    if change == "altered":
        document["published"]["contents"] = ["1" * 64]
    path.write_text("[" * 100_000 if change == "not JSON" else json.dumps(document))
    signer = SigningKey.generate() if change == "other key" else key
    with pytest.raises(InputError, match=r"not a signed list|expected a signature|expected the list of site"):
        published.read(path, signer.public, site=SITE)


def test_chunks_of_every_medium_fit(builder: Builder) -> None:
    chunks = [Chunk(sha256=f"{number:064x}", size=CHUNK_BYTES) for number in range(100)]
    planned = media.plan(chunks, size_bytes=1_000_000, metadata_bytes=50_000)
    assert [each for part in planned for each in part] == chunks
    assert all(sum(each.size for each in part) <= 950_000 for part in planned)
