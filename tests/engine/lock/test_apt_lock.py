"""Locks with the real apt on a local archive: closure, equal bytes, refusals, settings of the builder, one update."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from local_archive import Archive

from sovctl.engine.catalog.operating_systems import load_operating_systems
from sovctl.engine.lock import programs
from sovctl.engine.lock.apt import closure
from sovctl.engine.lock.apt.part import CHECKED, make_part
from sovctl.engine.lock.apt.private_apt import PrivateApt
from sovctl.engine.lock.apt.sources import AptSources, own_sources, read_sources
from sovctl.engine.lock.inventory import PackageBase
from sovctl.engine.lock.part import Part
from sovctl.engine.lock.refused import LockRefused
from sovctl.engine.lock.targets import NodeTarget
from sovctl.engine.spec import Node
from sovctl.support.errors import InputError, SovctlError

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("apt-get", "dpkg-deb", "dpkg-scanpackages", "gpg"))),
    reason="not run: no apt or dpkg-dev",
)
DEBIAN = load_operating_systems()["debian-12"]


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    made = Archive(tmp_path / "archive")
    made.add("web", depends="lib (>= 1.0), base-lib")
    made.add("lib", depends="deep")
    made.add("deep", "1:2.0")
    made.add("base-lib")
    made.add("tool", depends="lib")
    made.publish()
    yield made
    made.close()


def target(*roots: str, role: str = "gpu", base: PackageBase | None = None) -> NodeTarget:
    node = Node(name="n1", address="192.0.2.1")
    return NodeTarget(node, role, DEBIAN, "x86_64", base, roots, "3.11", "2.36", has_gpus=False, driver_pin="")


def part_of(
    archive: Archive,
    *members: NodeTarget,
    kept: Part | None = None,
    update: str | None = None,
    may_remove: tuple[str, ...] = (),
) -> Part:
    sources = AptSources((("site.list", archive.sources()),))
    return make_part(members, sources, own_index="", own_folder=None, kept=kept, update=update, may_remove=may_remove)


def versions(part: Part) -> dict[str, str]:
    return {each.name: each.version for each in part.packages}


def test_resolves_the_whole_closure_with_sizes_and_digests(archive: Archive) -> None:
    part = part_of(archive, target("web"), target("tool", role="service"))
    assert versions(part) == {"web": "1.0", "lib": "1.0", "deep": "1:2.0", "base-lib": "1.0", "tool": "1.0"}
    for each in part.packages:
        file = archive.folder / Path(each.path).name
        assert each.size == file.stat().st_size
        digest = subprocess.run(["sha256sum", file], capture_output=True, text=True, check=True).stdout.split()[0]
        assert each.sha256 == digest
    assert part.roles == {"gpu": ("web",), "service": ("tool",)}
    assert part.solver["indexes"][0]["date"] == "Sat, 28 Nov 2026 00:00:00 UTC"


def test_two_runs_have_the_same_bytes(archive: Archive) -> None:
    one, two = (part_of(archive, target("web")) for _ in range(2))
    assert (one.text(), one.index) == (two.text(), two.index)


def test_the_base_of_the_nodes_is_not_locked_again(archive: Archive) -> None:
    base = PackageBase(
        "apt",
        "Package: lib\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1.0\n\n"
        "Package: base-lib\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1.0\n\n",
    )
    assert versions(part_of(archive, target("web", base=base))) == {"web": "1.0"}


def test_a_package_that_a_root_would_remove_is_refused(archive: Archive) -> None:
    archive.add("enemy", conflicts="old")
    archive.publish()
    base = PackageBase("apt", "Package: old\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n\n")
    with pytest.raises(LockRefused, match="old would be removed"):
        part_of(archive, target("enemy", base=base))
    part = part_of(archive, target("enemy", base=base), may_remove=("old",))
    assert part.solver["removes"] == ["old"]
    assert versions(part) == {"enemy": "1.0"}


def test_an_unknown_root_is_refused_with_the_sentence_of_apt(archive: Archive) -> None:
    with pytest.raises(LockRefused, match="Unable to locate package absent"):
        part_of(archive, target("web", "absent"))


def test_a_missing_dependency_is_refused(archive: Archive) -> None:
    archive.add("broken", depends="nowhere (>= 3)")
    archive.publish()
    with pytest.raises(LockRefused, match="broken : Depends: nowhere"):
        part_of(archive, target("broken"))


def test_the_closure_check_needs_every_file_of_the_part(archive: Archive) -> None:
    if not programs.can_isolate():
        pytest.skip("not run: no network namespace on this machine")
    member = target("web")
    part = part_of(archive, member)
    assert closure.checked(part, member).closure_check == CHECKED
    stanzas = part.index.split("\n\n")
    without = "\n\n".join(each for each in stanzas if not each.startswith("Package: deep\n"))
    assert without != part.index
    with pytest.raises(LockRefused, match="deep"):
        closure.checked(replace(part, index=without), member)


def test_an_altered_index_is_refused(archive: Archive) -> None:
    index = archive.folder / "Packages"
    index.write_bytes(index.read_bytes().replace(b"Size: ", b"Size: 1", 1))
    with pytest.raises(SovctlError, match="cannot read the package sources"):
        part_of(archive, target("web"))


def test_another_key_is_refused(archive: Archive, tmp_path: Path) -> None:
    other = Archive(tmp_path / "other")
    archive.key = other.key
    try:
        with pytest.raises(SovctlError, match="cannot read the package sources"):
            part_of(archive, target("web"))
    finally:
        other.close()


def test_no_setting_of_the_builder_leaks(archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = part_of(archive, target("web"))
    leaking = tmp_path / "leaking.conf"
    leaking.write_text('Acquire::http::Proxy "http://127.0.0.1:9";\nAPT::Install-Recommends "true";\n')
    monkeypatch.setenv("APT_CONFIG", str(leaking))
    for name in ("http_proxy", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert part_of(archive, target("web")).text() == expected.text()
    apt = PrivateApt(tmp_path / "private", architecture="amd64", sources={}, status="", preferences={})
    dump = apt.run("apt-config", "dump").stdout
    assert "127.0.0.1:9" not in dump
    assert 'Acquire::Check-Valid-Until "true";' in dump
    own = [path.read_text() for path in Path("/etc/apt/apt.conf.d").glob("*")]  # the settings of this machine
    hooks = [line for text in own for line in text.splitlines() if line.startswith(("DPkg::", "APT::Update::"))]
    assert not any(line.partition("{")[0].strip() in dump for line in hooks if line.partition("{")[0].strip())


def test_an_update_moves_one_root_only(archive: Archive) -> None:
    member = target("web", "tool")
    before = part_of(archive, member)
    archive.add("deep", "1:2.1")
    archive.add("lib", "1.1", depends="deep")
    archive.add("base-lib", "1.1")
    (archive.folder / "lib_1.0_amd64.deb").unlink()  # a vendor repository deletes old versions
    archive.publish()
    after = part_of(archive, member, kept=before, update="deep")
    assert versions(after) == versions(before) | {"deep": "1:2.1"}
    assert {each for each in after.packages if each.name != "deep"} <= set(before.packages)
    assert versions(part_of(archive, member))["lib"] == "1.1"


def test_an_update_that_needs_another_version_of_a_kept_package_is_refused(archive: Archive) -> None:
    member = target("web", "lib")
    before = part_of(archive, member)
    archive.add("lib", "3.0", depends="deep (>= 1:3.0)")
    archive.add("deep", "1:3.0")
    archive.publish()
    with pytest.raises(LockRefused, match="deep"):
        part_of(archive, member, kept=before, update="lib")


def test_packages_of_one_source_move_together(archive: Archive) -> None:
    archive.add("libssl", source="openssl")
    archive.add("openssl", depends="libssl (= 1.0)")
    archive.publish()
    member = target("openssl", "web")
    before = part_of(archive, member)
    archive.add("libssl", "1.1", source="openssl")
    archive.add("openssl", "1.1", depends="libssl (= 1.1)")
    archive.publish()
    after = part_of(archive, member, kept=before, update="openssl")
    assert versions(after) == versions(before) | {"openssl": "1.1", "libssl": "1.1"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("deb [trusted=yes] http://mirror.example/debian bookworm main\n", "skips the verification"),
        ("deb http://mirror.example/debian bookworm main\n", "has no key"),
        ("deb [signed-by=/k.gpg] http://me:pw@mirror.example/debian bookworm main\n", "credentials"),
        ("# nothing\n", "no enabled package source"),
        ("deb\n", "expected"),
    ],
)
def test_refuses_unsafe_package_sources(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "debian.list"
    path.write_text(text)
    with pytest.raises(InputError, match=reason) as error:
        read_sources(path)
    assert "pw" not in str(error.value)


def test_uses_own_sources_only_for_the_release_of_the_builder(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text("ID=debian\nVERSION_ID=13\n")
    with pytest.raises(InputError, match="does not run Debian 12") as error:
        own_sources(DEBIAN, tmp_path)
    assert "--sources debian-12=FILE" in error.value.hint


def test_resolves_real_debian_packages_as_nobody(tmp_path: Path) -> None:
    """The archive of this machine's own sources, without root, and no file outside the work folder."""
    try:
        sources = own_sources(DEBIAN)
    except InputError as error:
        pytest.skip(f"not run: {error.message}")
    if os.geteuid() != 0:
        pytest.skip("not run: only root can become nobody")
    apt = PrivateApt(tmp_path / "probe", architecture="amd64", sources=dict(sources.files), status="", preferences={})
    try:
        apt.update()
    except SovctlError as error:
        pytest.skip(f"not run: the package archives are unreachable: {error.message[:60]}")
    program = """
import os, sys, json, tempfile
from pathlib import Path
os.setgid(65534); os.setuid(65534)
tempfile.tempdir = sys.argv[1]
from sovctl.engine.catalog.operating_systems import load_operating_systems
from sovctl.engine.lock.apt.part import make_part
from sovctl.engine.lock.apt.sources import own_sources
from sovctl.engine.lock.targets import NodeTarget
from sovctl.engine.spec import Node
row = load_operating_systems()["debian-12"]
node = NodeTarget(Node(name="n1", address="192.0.2.1"), "gpu", row, "x86_64", None, ("chrony", "nftables"), "3.11",
                  "2.36", has_gpus=False, driver_pin="")
options = {"own_index": "", "own_folder": None, "kept": None, "update": None}
texts = [make_part([node], own_sources(row), **options).text() for _ in "ab"]
print(json.dumps([texts[0] == texts[1], json.loads(texts[0]), os.getuid()]))
"""
    with tempfile.TemporaryDirectory() as folder:  # the folders of pytest are closed to other users
        shutil.chown(folder, "nobody", "nogroup")
        done = subprocess.run([sys.executable, "-c", program, folder], capture_output=True, text=True, check=False)
        left = list(Path(folder).iterdir())
    assert done.returncode == 0, done.stderr
    assert left == []
    is_equal, part, user = json.loads(done.stdout)
    assert is_equal
    assert user == 65534
    names = {each["name"] for each in part["packages"]}
    assert {"chrony", "nftables", "libc6", "libnftables1"} <= names
    assert all(each["licence"] == "free (Debian main)" for each in part["packages"])
