"""Locks with the real dnf on a synthetic repository."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from sovctl.engine.catalog.operating_systems import load_operating_systems
from sovctl.engine.lock import programs
from sovctl.engine.lock.dnf.part import make_part
from sovctl.engine.lock.dnf.sources import read_repositories
from sovctl.engine.lock.inventory import PackageBase
from sovctl.engine.lock.part import Part
from sovctl.engine.lock.refused import LockRefused
from sovctl.engine.lock.targets import NodeTarget
from sovctl.engine.spec import Node
from sovctl.support.errors import InputError

RHEL = load_operating_systems()["rhel-9"]
needs_dnf = pytest.mark.skipif(
    not all(map(shutil.which, ("dnf", "createrepo_c", "rpmbuild"))), reason="not run: no dnf, createrepo_c or rpmbuild"
)
SPEC = """\
Name: {name}
Version: {version}
Release: 1
Summary: {name}
License: {licence}
BuildArch: noarch
{requires}
%description
{name}
%files
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    rpm(folder, "web", requires="Requires: lib >= 1.0")
    rpm(folder, "lib", requires="Requires: deep")
    rpm(folder, "deep", licence="Proprietary")
    rpm(folder, "unused")
    publish(folder)
    return folder


def rpm(folder: Path, name: str, version: str = "1.0", *, requires: str = "", licence: str = "MIT") -> None:
    spec = folder.parent / f"{name}.spec"
    spec.write_text(SPEC.format(name=name, version=version, requires=requires, licence=licence))
    build = [
        "rpmbuild",
        "-bb",
        "--quiet",
        "--define",
        f"_topdir {folder.parent}/build",
        "--define",
        f"_rpmdir {folder}",
    ]
    build += ["--define", "_rpmfilename %{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm", str(spec)]
    subprocess.run(build, check=True, capture_output=True)


def publish(folder: Path) -> None:
    subprocess.run(["createrepo_c", "-q", folder], check=True)


def part_of(folder: Path, *roots: str, base: PackageBase | None = None) -> Part:
    file = folder.parent / "site.repo"
    file.write_text(f"[site]\nname=site\nbaseurl=file://{folder}\n")
    node = NodeTarget(Node(name="n1", address="192.0.2.1"), "gpu", RHEL, "x86_64", base, roots, "3.11", "2.34",
                      has_gpus=False, driver_pin="")  # fmt: skip
    return make_part([node], read_repositories(file), check=programs.can_isolate())


@needs_dnf
def test_resolves_the_closure_with_digests_and_the_same_bytes(repository: Path) -> None:
    part = part_of(repository, "web")
    assert [each.name for each in part.packages] == ["deep", "lib", "web"]
    for each in part.packages:
        data = (repository / Path(each.path).name).read_bytes()
        assert (each.size, each.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    assert [each.redistributable for each in part.packages] == ["no", "yes", "yes"]
    repomd = hashlib.sha256((repository / "repodata/repomd.xml").read_bytes()).hexdigest()
    assert part.solver["indexes"] == {"site": repomd}
    assert part_of(repository, "web").text() == part.text()


@needs_dnf
def test_leaves_out_what_the_nodes_have(repository: Path) -> None:
    base = PackageBase("dnf", "deep\t1.0-1\tnoarch\tii\nlib\t0.9-1\tnoarch\tii\n")
    assert [each.name for each in part_of(repository, "web", base=base).packages] == ["lib", "web"]


@needs_dnf
def test_refuses_unknown_roots_and_missing_dependencies(repository: Path) -> None:
    with pytest.raises(LockRefused, match="no package absent"):
        part_of(repository, "web", "absent")
    rpm(repository, "broken", requires="Requires: nowhere >= 3")
    publish(repository)
    with pytest.raises(LockRefused, match="nothing provides nowhere >= 3"):
        part_of(repository, "broken")


@needs_dnf
def test_takes_an_exact_version(repository: Path) -> None:
    rpm(repository, "lib", "2.0")
    publish(repository)
    found = {each.name: each.version for each in part_of(repository, "lib=1.0-1", "web").packages}
    assert found["lib"] == "1.0-1"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[a]\nbaseurl=http://mirror.example/9\n", "not authenticated"),
        ("[a]\nbaseurl=http://mirror.example/9\nrepo_gpgcheck=1\n", "not authenticated"),
        ("[a]\nbaseurl=https://me:pw@mirror.example/9\n", "credentials"),
        ("[a]\nbaseurl=https://mirror.example/9\nsslverify=0\n", "`sslverify` is not supported"),
        ("[a]\nmirrorlist=https://mirror.example/9\n", "`mirrorlist` is not supported"),
        ("[a]\nname=a\n", "no baseurl"),
        ("[a]\nenabled=0\nbaseurl=https://mirror.example/9\n", "no enabled"),
        ("nonsense", "unreadable"),
    ],
)
def test_refuses_unsafe_sources(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "x.repo"
    path.write_text(text)
    with pytest.raises(InputError, match=reason) as error:
        read_repositories(path)
    assert "pw" not in str(error.value)
