"""The survey of a node reports what neither a package nor sovctl put there, from a real tree with dpkg's database."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sovctl.engine.catalog.operating_systems import load_generated_files
from sovctl.engine.plan.unmanaged import PROGRAM

OWN = "/etc/chrony/chrony.conf"
NFT, CONFFILE, UNIT = "/usr/sbin/nft", "/etc/default.conf", "/usr/lib/systemd/system/nft.service"

pytestmark = pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="dpkg is not installed")


def put(root: Path, path: str, text: str = "x\n", mode: int = 0o644) -> Path:
    file = root / path.removeprefix("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(mode)
    return file


def link(root: Path, path: str, target: str) -> None:
    (root / path.removeprefix("/")).parent.mkdir(parents=True, exist_ok=True)
    (root / path.removeprefix("/")).symlink_to(target)


def md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tree with one package, nftables: a program, a unit, a configuration file; and a file of sovctl."""
    info = "/var/lib/dpkg/info/nftables"
    put(tmp_path, NFT, "program\n", 0o755)
    put(tmp_path, UNIT, "[Service]\n")
    put(tmp_path, CONFFILE, "a = 1\n")
    put(tmp_path, OWN)
    put(tmp_path, f"{info}.list", f"/.\n/usr\n/usr/sbin\n{NFT}\n{UNIT}\n{CONFFILE}\n")
    put(tmp_path, f"{info}.md5sums", f"{md5('program' + chr(10))}  usr/sbin/nft\n")
    status = f"""Package: nftables
Status: install ok installed
Priority: important
Section: net
Maintainer: Nobody <nobody@example.org>
Architecture: amd64
Version: 1.0
Conffiles:
 {CONFFILE} {md5("a = 1" + chr(10))}
Description: firewall
"""
    put(tmp_path, "/var/lib/dpkg/status", status)
    (tmp_path / "var/lib/dpkg/updates").mkdir()
    return tmp_path


def survey(root: Path, programs: tuple[str, ...] = (NFT,)) -> dict[tuple[str, str], str]:
    generated = [[each.os, each.pattern] for each in load_generated_files()]
    request = json.dumps({"known": [OWN], "units": [], "programs": programs, "generated": generated})
    done = subprocess.run(
        [sys.executable, str(PROGRAM), request, str(root)], capture_output=True, text=True, check=True, timeout=60
    )
    return {(kind, name): detail for kind, name, detail in json.loads(done.stdout)}


def test_a_node_with_files_of_packages_and_of_sovctl_only_has_no_rows(root: Path) -> None:
    assert survey(root) == {}


@pytest.mark.parametrize(
    ("os_id", "path"),
    [
        ("ubuntu", "/etc/systemd/system/snap-core22-1380.mount"),
        ("ubuntu", "/etc/apt/apt.conf.d/20auto-upgrades"),
        ("rhel", "/etc/sysconfig/network-scripts/readme-ifcfg-rh.txt"),
        ("rhel", "/etc/selinux/targeted/policy/policy.33"),
    ],
)
def test_a_file_that_the_operating_system_generates_is_no_row_there_only(root: Path, os_id: str, path: str) -> None:
    put(root, path)
    assert [name for _, name in survey(root)] == [path]
    put(root, "/etc/os-release", f'NAME="x"\nID="{os_id}"\nVERSION_ID="9.4"\n')
    assert [name for _, name in survey(root) if name != "/etc/os-release"] == []


@pytest.mark.parametrize(
    ("os_id", "path"),
    [
        ("ubuntu", "/etc/sudoers.d/90-cloud-init-users"),
        ("ubuntu", "/etc/ssh/sshd_config.d/50-cloud-init.conf"),
        ("rhel", "/etc/firewalld/zones/public.xml"),
        ("rhel", "/etc/sysconfig/agent"),
    ],
)
def test_a_file_that_changes_access_or_is_of_the_site_is_reported(root: Path, os_id: str, path: str) -> None:
    put(root, path)
    put(root, "/etc/os-release", f"ID={os_id}\n")
    assert path in [name for _, name in survey(root)]


Act = Callable[[Path], object]
ADDED: dict[str, tuple[Act, tuple[str, str]]] = {
    "a cron entry": (lambda root: put(root, "/etc/cron.d/x"), ("cron", "/etc/cron.d/x")),
    "a crontab of root": (
        lambda root: put(root, "/var/spool/cron/crontabs/root"),
        ("cron", "/var/spool/cron/crontabs/root"),
    ),
    "a preloaded library": (lambda root: put(root, "/etc/ld.so.preload"), ("preload", "/etc/ld.so.preload")),
    "a source of packages": (
        lambda root: put(root, "/etc/apt/preferences.d/x"),
        ("package source", "/etc/apt/preferences.d/x"),
    ),
    "a unit": (
        lambda root: put(root, "/etc/systemd/system/x.service"),
        ("unit", "/etc/systemd/system/x.service"),
    ),
    "a unit of the running system": (
        lambda root: put(root, "/run/systemd/transient/x.service"),
        ("unit", "/run/systemd/transient/x.service"),
    ),
    "a link to a unit of a package under another name": (
        lambda root: link(root, "/etc/systemd/system/other-x.service", UNIT),
        ("unit", "/etc/systemd/system/other-x.service"),
    ),
    "a sudo rule": (lambda root: put(root, "/etc/sudoers.d/x"), ("access", "/etc/sudoers.d/x")),
    "a key of root": (
        lambda root: put(root, "/root/.ssh/authorized_keys"),
        ("access", "/root/.ssh/authorized_keys"),
    ),
    "a program": (lambda root: put(root, "/usr/bin/x", mode=0o755), ("program", "/usr/bin/x")),
    "a module of Python": (
        lambda root: put(root, "/usr/local/lib/python3.11/dist-packages/x.pth"),
        ("file", "/usr/local/lib/python3.11/dist-packages/x.pth"),
    ),
    "software in /opt": (lambda root: put(root, "/opt/agent/bin/run"), ("file", "/opt/agent")),
    "a file next to that of sovctl": (lambda root: put(root, "/etc/chrony/x.conf"), ("file", "/etc/chrony/x.conf")),
    "a kernel setting": (lambda root: put(root, "/etc/sysctl.d/99-x.conf"), ("file", "/etc/sysctl.d/99-x.conf")),
}


@pytest.mark.parametrize("name", ADDED)
def test_each_added_thing_is_the_only_row_until_it_is_removed(name: str, root: Path) -> None:
    act, row = ADDED[name]
    act(root)
    assert list(survey(root)) == [row]
    (kind, path) = row
    target = root / path.removeprefix("/")
    shutil.rmtree(target) if target.is_dir() and not target.is_symlink() else target.unlink()
    assert (kind, path) not in survey(root)


def test_a_program_that_is_found_before_the_packages_one_names_it(root: Path) -> None:
    put(root, "/usr/local/sbin/nft", mode=0o755)
    assert survey(root) == {("program", "/usr/local/sbin/nft"): f"is found before {NFT}"}


def test_a_link_that_shadows_a_program_is_reported_also_to_a_file_of_a_package(root: Path) -> None:
    link(root, "/usr/local/bin/nft", NFT)
    assert survey(root) == {("program", "/usr/local/bin/nft"): f"link to {NFT}"}


def test_links_that_the_system_makes_and_masks_are_no_rows(root: Path) -> None:
    link(root, "/etc/systemd/system/multi-user.target.wants/nft.service", UNIT)
    link(root, "/etc/systemd/system/apt-daily.timer", "/dev/null")
    link(root, "/etc/alternatives/nft", NFT)
    put(root, "/etc/passwd")
    assert survey(root) == {}


def test_the_folder_of_sovctl_in_opt_is_left_to_its_manifests(root: Path) -> None:
    put(root, "/opt/sovctl/gateway/bin/python3")
    assert survey(root) == {}


CHANGED: dict[str, tuple[Act, tuple[str, str]]] = {
    "the program": (lambda root: put(root, NFT, "other\n"), (NFT, "content differs from its package")),
    "the program, removed": (lambda root: (root / NFT[1:]).unlink(), (NFT, "missing")),
    "the configuration": (
        lambda root: put(root, CONFFILE, "a = 2\n"),
        (CONFFILE, "content differs from its package"),
    ),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_file_of_a_package_is_reported(name: str, root: Path) -> None:
    act, (path, detail) = CHANGED[name]
    act(root)
    assert survey(root) == {("changed package file", path): detail}


def test_a_removed_configuration_file_of_a_verified_package_is_a_row(root: Path) -> None:
    (root / CONFFILE[1:]).unlink()
    assert survey(root) == {("changed package file", CONFFILE): "missing"}
    assert survey(root, programs=()) == {}


def test_a_changed_configuration_file_of_any_package_is_a_row(root: Path) -> None:
    put(root, CONFFILE, "a = 2\n")
    assert survey(root, programs=()) == {("changed package file", CONFFILE): "configuration differs from its package"}


def test_names_with_other_bytes_than_utf_8_do_not_stop_the_survey(root: Path) -> None:
    (root / "etc").joinpath(os.fsdecode(b"x\xff")).touch()
    [(kind, name)] = survey(root)
    assert (kind, name.startswith("/etc/x")) == ("file", True)


def test_a_node_without_a_database_of_packages_is_an_error_and_no_empty_answer(tmp_path: Path) -> None:
    (tmp_path / "var/lib/dpkg/info").mkdir(parents=True)
    command = [sys.executable, str(PROGRAM), '{"known": [], "units": [], "programs": []}', str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr.strip()) == (1, "no database of packages")


@pytest.mark.skipif(shutil.which("ss") is None, reason="iproute2 is not installed")
def test_a_listener_of_no_known_unit_is_reported_with_its_process() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        request = json.dumps({"known": [], "units": ["chrony.service"], "programs": []})
        done = subprocess.run([sys.executable, str(PROGRAM), request], capture_output=True, check=True, timeout=300)
        found = {(kind, name): detail for kind, name, detail in json.loads(done.stdout)}
    assert found["listener", f"tcp {address}"].startswith("process ")
