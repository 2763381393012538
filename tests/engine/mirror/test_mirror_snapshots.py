"""Snapshots of the mirror: a real bundle with a real index, read by a real apt; rollback, and records in the ledger."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import warm_processes
from bundle_specimens import Builder
from intake_specimens import without_scanner

from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.signing import load_or_create
from sovctl.engine.bundle import media, mirror_selection, signing
from sovctl.engine.bundle.build import Request, build
from sovctl.engine.bundle.intake.admission import Expected
from sovctl.engine.bundle.intake.opening import open_intake
from sovctl.engine.bundle.lock_file import read_lock as read_files
from sovctl.engine.bundle.store import Store
from sovctl.engine.lock.apt.private_apt import PrivateApt
from sovctl.engine.lock.fetch import fetch
from sovctl.engine.lock.files import files_of
from sovctl.engine.lock.folder import Lock, read_lock, write_lock
from sovctl.engine.lock.part import LockedPackage, Part
from sovctl.engine.mirror import snapshots
from sovctl.engine.validation.presets import write_preset
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError, SovctlError

FOLDER = "apt/debian-12-amd64"


def deb(folder: Path, name: str, version: str) -> Path:
    tree = folder / f"{name}-{version}"
    (tree / "DEBIAN").mkdir(parents=True)
    text = f"Package: {name}\nVersion: {version}\nArchitecture: amd64\nMaintainer: t <t@example.org>\nDescription: t\n"
    (tree / "DEBIAN/control").write_text(text)
    target = folder / f"{name}_{version}_amd64.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree, target], check=True, capture_output=True)
    return target


def part_of(base: str, debs: list[Path]) -> Part:
    """A part of a lock with the files and their index."""
    stanzas, packages = [], []
    for path in debs:
        data, fields = path.read_bytes(), subprocess.run(["dpkg-deb", "--field", path], check=True, capture_output=True)
        place = f"Filename: ./{path.name}\nSize: {len(data)}\nSHA256: {sha256_hex(data)}\n"
        stanzas.append(fields.stdout.decode().rstrip("\n") + "\n" + place)
        name, version, _ = path.stem.split("_")
        packages.append(LockedPackage(name, version, "amd64", f"{FOLDER}/{path.name}", len(data), sha256_hex(data),
                                      "test", f"file://{path}", "free", "yes"))  # fmt: skip
    target = {"system": "debian-12", "base": base}
    return Part(f"debian-12-{base}", "deb", target, (), {}, tuple(packages), {}, "invented", index="\n".join(stanzas))


class ClosedSite:
    """A builder, and a site whose store has the bundles of `publish`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, folder / "store"
        self.yaml = write_preset("lab", folder / "site", force=False).site
        self.builder = Builder(folder / "outside")
        self.keys = {name: load_or_create(folder / f"{name}.key") for name in ("importer", "approver")}
        persons = "".join(f"  - {key.public.vkey(name)}\n" for name, key in self.keys.items())
        accepted = "accept_without_scanner: {by: security office, reason: scanned at the gate}\n"
        (folder / "site/import-policy.yaml").write_text(f"persons:\n{persons}{accepted}")

    def publish(self, parts: list[Part], sequence: int, wheels: Mapping[str, bytes] | None = None) -> str:
        """Lock, fetch, bundle, import and approve."""
        rows = tuple(LockedPackage(n, "1", "", f"wheels/{n}", len(d), sha256_hex(d), "t", "", "free", "yes")
                     for n, d in (wheels or {}).items())  # fmt: skip
        extra = (Part("wheels", "wheel", {}, (), {}, rows, {}, "invented"),) if rows else ()
        locks, content, given = (self.folder / f"{name}-{sequence}" for name in ("locks", "content", "given"))
        write_lock(Lock("lab", {}, (), (*parts, *extra)), locks, "")
        files, sha256 = read_files(locks)
        given.mkdir()
        for name, data in (wheels or {}).items():
            (given / name).write_bytes(data)
        assert fetch(files_of(read_lock(locks)), content, from_folders=[given]).missing == []
        store, stick = Store(self.folder / f"bundle-{sequence}"), self.folder / f"stick-{sequence}"
        request = Request(content, files, sha256, self.builder.trust, "lab", sequence=sequence)
        build(store, request, now=self.builder.now)
        signing.sign(store, [self.builder.key(name) for name in ("anna", "ben", "builder")])
        media.write(store, [stick], size_bytes=64_000_000)
        now, expected = datetime.now(UTC), Expected(sequence, self.builder.root_sha256)
        with open_intake(self.yaml, self.store) as intake:
            done = intake.receive([stick], key=self.keys["importer"], expected=expected, now=now)
            intake.approve(done.bundle, key=self.keys["approver"], now=now)
        return done.bundle

    def select(self, name: str) -> snapshots.MirrorSnapshot:
        """Select a bundle."""
        return mirror_selection.select(self.yaml, self.store, name, state=None, now=datetime.now(UTC))

    def apt(self, *words: str) -> str:
        """Run a real apt with private folders, whose only source is the selected snapshot."""
        root = self.folder / "apt"
        root.mkdir(exist_ok=True)
        key = (self.yaml.parent / "access/apt-key.asc").resolve()
        source = f"deb [signed-by={key}] copy:{(self.store / 'mirror/selected').resolve()}/{FOLDER} ./\n"
        apt = PrivateApt(root / words[0], architecture="amd64", sources={"m.list": source}, status="", preferences={})
        apt.update()
        return apt.run("apt-cache", *words).stdout


@pytest.fixture
def closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClosedSite:
    without_scanner(monkeypatch)
    return ClosedSite(tmp_path)


def test_apt_accepts_the_signed_index_of_two_parts(closed: ClosedSite, tmp_path: Path) -> None:
    hello, other = deb(tmp_path, "hello", "1.0"), deb(tmp_path, "other", "2.0")
    closed.publish([part_of("a", [hello]), part_of("b", [hello, other])], 1, {"x-1-py3-none-any.whl": b"wheel"})
    found = closed.select("1")
    printed = closed.apt("policy", "hello", "other")
    assert "Candidate: 1.0" in printed
    assert "Candidate: 2.0" in printed
    page = (found.folder / "wheels/index.html").read_text()
    assert f'href="x-1-py3-none-any.whl#sha256={sha256_hex(b"wheel")}"' in page
    for path, sha256 in found.files().items():
        assert sha256_hex((found.folder / path).read_bytes()) == sha256, path
    assert found.files().keys() | {"MANIFEST"} == {
        path.relative_to(found.folder).as_posix() for path in found.folder.rglob("*") if path.is_file()
    }


def test_apt_refuses_an_index_that_was_altered(closed: ClosedSite, tmp_path: Path) -> None:
    closed.publish([part_of("a", [deb(tmp_path, "hello", "1.0")])], 1)
    found = closed.select("1")
    release = found.folder / FOLDER / "InRelease"
    release.chmod(0o644)
    release.write_bytes(release.read_bytes().replace(b"Snapshot: ", b"Snapshot: x"))
    with pytest.raises(SovctlError):
        closed.apt("policy", "hello")


def test_rollback_selects_the_same_bytes_and_is_recorded(closed: ClosedSite, tmp_path: Path) -> None:
    one = closed.publish([part_of("a", [deb(tmp_path, "hello", "1.0")])], 1)
    two = closed.publish([part_of("a", [deb(tmp_path, "hello", "2.0")])], 2)
    first, second, again = closed.select("1"), closed.select(two), closed.select(one)
    assert again == first
    assert second.manifest_sha256 != first.manifest_sha256
    closed.select("1")  # no change, no record
    ledger = closed.yaml.parent / ".sovctl/ledger"
    records = [each.record for each in LedgerReader(ledger).entries() if each.record["type"] == "mirror-selected"]
    assert [(each["previous"], each["bundle"]) for each in records] == [(None, one), (one, two), (two, one)]
    rows = mirror_selection.snapshots_of(closed.yaml, closed.store, state=None)
    assert [(each["sequence"], each["selected"]) for each in rows] == [(2, False), (1, True)]


def test_an_interrupted_selection_is_repeated(closed: ClosedSite, tmp_path: Path) -> None:
    one = closed.publish([part_of("a", [deb(tmp_path, "hello", "1.0")])], 1)
    draft = closed.store / f"mirror/.{one}.new/apt"
    draft.mkdir(parents=True)
    (draft / "rest").write_text("x")
    draft.chmod(0o555)
    assert "apt/rest" not in closed.select("1").files()


def test_packages_without_an_index_are_refused_and_nothing_is_selected(closed: ClosedSite, tmp_path: Path) -> None:
    closed.publish([replace(part_of("a", [deb(tmp_path, "hello", "1.0")]), index="")], 1)
    with pytest.raises(InputError, match="no index of packages"):
        closed.select("1")
    assert snapshots.selected(closed.store) is None
    with pytest.raises(InputError, match="unknown bundle"):
        closed.select("9")


def test_a_public_key_of_another_site_is_refused(closed: ClosedSite, tmp_path: Path) -> None:
    closed.publish([part_of("a", [deb(tmp_path, "hello", "1.0")])], 1)
    (closed.yaml.parent / "access").mkdir(exist_ok=True)
    (closed.yaml.parent / "access/apt-key.asc").write_text("another key\n")
    with pytest.raises(InputError, match="no private key"):
        closed.select("1")


def test_the_command_selects_and_lists(closed: ClosedSite, tmp_path: Path) -> None:
    one = closed.publish([part_of("a", [deb(tmp_path, "hello", "1.0")])], 1)
    words = ["--into", str(closed.store), "--site", str(closed.yaml), "--json"]
    done = warm_processes.sovctl("mirror", "select", "1", *words, cwd=tmp_path, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["bundle"] == one
    done = warm_processes.sovctl("mirror", "list", *words, cwd=tmp_path, env=os.environ)
    assert [each["selected"] for each in json.loads(done.stdout)["snapshots"]] == [True]
