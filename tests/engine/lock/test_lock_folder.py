"""A whole lock of a site: folder, digests, report, differences, files; and models and own files."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from local_archive import Archive

from sovctl.engine.bundle.lock_file import read_lock as read_files_of_bundle
from sovctl.engine.lab.artifacts import model_store
from sovctl.engine.lock import own_files, programs
from sovctl.engine.lock.build import make_lock
from sovctl.engine.lock.comparison import differences
from sovctl.engine.lock.files import LockedFile, files_of
from sovctl.engine.lock.folder import Lock, read_lock, write_lock
from sovctl.engine.lock.licences import Acceptance, read_acceptances
from sovctl.engine.lock.models import ModelFolder, locked_model, refused_files
from sovctl.engine.lock.options import Options
from sovctl.engine.lock.refused import LockRefused
from sovctl.engine.lock.report import report
from sovctl.engine.site.site import Site
from sovctl.engine.validation.presets import write_preset
from sovctl.support.errors import InputError, SpecError

VENDOR = {
    "nvidia-open": "580.126.20-1", "nvidia-kernel-open-dkms": "580.126.20-1", "nvidia-driver-cuda": "580.126.20-1",
    "nvidia-persistenced": "580.126.20-1", "nvidia-fabricmanager": "580.126.20-1", "libnvidia-nscq": "580.126.20-1",
    "libnvidia-container1": "1.19.0-1", "libnvidia-container-tools": "1.19.0-1",
    "nvidia-container-toolkit-base": "1.19.0-1", "nvidia-container-toolkit": "1.19.0-1",
    "datacenter-gpu-manager-4-cuda13": "1:4.5.2-1",
}  # fmt: skip
FREE = ("chrony", "nftables", "python3-venv", "libgomp1", "libnuma1", "auditd", "rsyslog")
LICENCE = Acceptance.model_validate_json(
    '{"name": "nvidia-open", "licence": "vendor", "by": "head of IT", "on": "2026-11-20", "because": "contract"}'
)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site.open(write_preset("lab", tmp_path / "site", force=False).site, touches_nodes=False)


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    made = Archive(tmp_path / "archive")
    for name in FREE:
        made.add(name)
    made.publish()
    yield made
    made.close()


@pytest.fixture
def options(archive: Archive, tmp_path: Path) -> Options:
    """Options of the lab's site: packages of an archive, vendor packages as own files, and the echo model."""
    sources = tmp_path / "test.list"
    sources.write_text(archive.sources())
    vendor = Archive(tmp_path / "vendor")
    own = tmp_path / "own"
    (own / "debian-12").mkdir(parents=True)
    for name, version in VENDOR.items():
        shutil.move(vendor.add(name, version), own / "debian-12")
    vendor.close()
    (own / "bios").mkdir()
    (own / "bios/board.rom").write_bytes(b"firmware")
    sums = {p.relative_to(own): hashlib.sha256(p.read_bytes()).hexdigest() for p in own.rglob("*") if p.is_file()}
    (own / "SHA256SUMS").write_text("".join(f"{digest}  {path}\n" for path, digest in sums.items()))
    model_store.publish(tmp_path / "models/echo")
    names = [*VENDOR, *FREE, "bios/board.rom"]
    return Options(
        system="debian-12",
        sources={"debian-12": sources},
        own_files=own,
        models=tmp_path / "models",
        accepted=tuple(LICENCE.model_copy(update={"name": name}) for name in names),
        omit=frozenset({"wheels"}),
        check=programs.can_isolate(),
    )


def made(site: Site, options: Options, previous: Lock | None = None) -> Lock:
    return make_lock(site.context(), {"site": site.loaded.spec_sha256}, None, options, previous=previous)


def test_a_bundle_has_the_files_of_a_lock(site: Site, options: Options, tmp_path: Path) -> None:
    lock = made(site, options)
    write_lock(lock, tmp_path / "locks", "")
    files, digest = read_files_of_bundle(tmp_path / "locks")
    assert files == [each.file for each in files_of(lock)] != []
    assert digest == lock.sha256


def test_a_lock_survives_its_folder_and_has_the_same_bytes_again(site: Site, options: Options, tmp_path: Path) -> None:
    one, two = made(site, options), made(site, options)
    for name, lock in (("a", one), ("b", two)):
        write_lock(lock, tmp_path / name, report(lock))
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == ["debian-12-amd64-empty.Packages", "debian-12-amd64-empty.json", "lock-report.txt", "lock.json",
                     "models.json", "own-files.json"]  # fmt: skip
    assert all((tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes() for name in names)
    assert read_lock(tmp_path / "a").sha256 == one.sha256
    files = {each.file.path: each for each in files_of(read_lock(tmp_path / "a"))}
    assert files["own/bios/board.rom"].file == LockedFile(
        "own/bios/board.rom", 8, hashlib.sha256(b"firmware").hexdigest(), "own-file"
    )
    driver = files["apt/debian-12-amd64/nvidia-open_580.126.20-1_amd64.deb"]
    assert (driver.file.kind, driver.url) == ("own-file", "")
    assert files["apt/debian-12-amd64/chrony_1.0_amd64.deb"].url.startswith("copy:")
    assert {"models/echo/MANIFEST", "models/echo/model.safetensors"} <= files.keys()
    assert "$(" not in (tmp_path / "a/debian-12-amd64-empty.json").read_text()  # placeholders of apt
    text = report(one)
    assert "own-file       12 files" in text
    assert "nvidia-open: vendor, by head of IT on 2026-11-20: contract" in text
    assert "unresolved   none" in text
    behaviour = next(part for part in one.parts if part.kind == "model").solver["behaviour"]
    assert {"echo/chat_template.jinja", "echo/generation_config.json", "echo/tokenizer_config.json"} == set(behaviour)


@pytest.mark.parametrize("file", ["debian-12-amd64-empty.json", "debian-12-amd64-empty.Packages", "models.json"])
def test_an_altered_part_is_refused(site: Site, options: Options, tmp_path: Path, file: str) -> None:
    lock = made(site, options)
    write_lock(lock, tmp_path / "locks", report(lock))
    path = tmp_path / "locks" / file
    path.write_text(path.read_text().replace("1", "2", 1))
    with pytest.raises(InputError, match="was altered"):
        read_lock(tmp_path / "locks")


def test_an_update_keeps_all_other_parts(site: Site, options: Options, archive: Archive) -> None:
    before = made(site, options)
    for name in ("chrony", "nftables"):
        archive.add(name, "2.0")
    archive.publish()
    after = made(site, replace(options, update="chrony"), before)
    changed = differences(before, after)
    assert [(each.change, each.name) for each in changed] == [("changed", "chrony")]
    assert differences(before, before) == ()
    with pytest.raises(InputError, match="no package 'absent'"):
        made(site, replace(options, update="absent"), before)


def test_licences_that_nobody_accepted_are_named(site: Site, options: Options) -> None:
    kept = tuple(each for each in options.accepted if each.name not in ("nvidia-open", "bios/board.rom"))
    with pytest.raises(LockRefused) as error:
        made(site, replace(options, accepted=kept))
    assert [line.partition(" not")[0] for line in error.value.reasons] == [
        "licence of bios/board.rom", "licence of nvidia-open",
    ]  # fmt: skip


def test_a_site_without_inventory_needs_a_system(site: Site, options: Options) -> None:
    with pytest.raises(InputError, match="expected one of debian-12"):
        made(site, replace(options, system=None))


def test_own_files_need_the_digest_of_their_vendor(options: Options) -> None:
    assert options.own_files is not None
    file = options.own_files / "bios/board.rom"
    file.write_bytes(b"other")
    with pytest.raises(InputError, match="expected SHA-256"):
        own_files.read_own_files(options.own_files)
    file.unlink()
    with pytest.raises(InputError, match=r"no such file: bios/board.rom"):
        own_files.read_own_files(options.own_files)
    file.symlink_to("/etc/passwd")
    with pytest.raises(InputError, match="a link is not permitted"):
        own_files.read_own_files(options.own_files)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("pytorch_model.bin", b"\x80\x04", "suffix .bin can run code"),
        ("modeling.py", b"import os", "suffix .py can run code"),
        ("config.json", b'{"auto_map": {"AutoModel": "x"}}', "auto_map"),
        ("broken.json", b"{", "not JSON"),
    ],
)
def test_model_files_that_run_code_are_refused_unless_accepted(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / name).write_bytes(content)
    text = model_store.manifest_text(model_store.digests_below(folder))
    (folder / "MANIFEST").write_text(text)
    model = ModelFolder("m", hashlib.sha256(text.encode()).hexdigest(), "MIT", is_permitted=True)
    packages = locked_model(model, tmp_path)
    (line,) = refused_files(packages, tmp_path, frozenset())
    assert line.startswith(f"m/{name}: ")
    assert reason in line
    assert refused_files(packages, tmp_path, frozenset({f"m/{name}"})) == []


def test_a_damaged_model_file_is_refused(tmp_path: Path, options: Options, site: Site) -> None:
    (tmp_path / "models/echo/config.json").write_text("{}")
    with pytest.raises(InputError, match="expected SHA-256") as error:
        made(site, options)
    assert "models/echo/config.json" in error.value.where


def test_accepted_licences_need_a_person_and_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "licences.yaml"
    path.write_text("accepted:\n  - {name: nvidia-open, licence: vendor, on: 2026-11-20, because: contract}\n")
    with pytest.raises(SpecError) as error:
        read_acceptances(path)
    assert any("by" in problem.where for problem in error.value.problems)
    path.write_text(json.dumps({"accepted": [json.loads(LICENCE.model_dump_json())]}))
    assert read_acceptances(path) == (LICENCE,)
