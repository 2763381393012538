"""The survey of programs reports libraries, rights and variables of no package, from a tree with dpkg's database."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sovctl.engine.catalog.privileged_programs import load_privileged_programs
from sovctl.engine.plan.unmanaged import PROGRAMS_PROGRAM

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
LIBZ = f"{LIBRARIES}/libz.so.1.2.13"
FIND, PASSWD, PING = "/usr/bin/find", "/usr/bin/passwd", "/usr/bin/ping"


def put(root: Path, path: str, text: str = "x\n", mode: int = 0o644) -> Path:
    file = root / path.removeprefix("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(mode)
    return file


def link(root: Path, path: str, target: str) -> None:
    file = root / path.removeprefix("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    file.symlink_to(target)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tree with packaged programs and a library, with the link of ldconfig, as a healthy node has them."""
    put(tmp_path, FIND, mode=0o755)
    put(tmp_path, PASSWD, mode=0o4755)
    put(tmp_path, PING, mode=0o755)
    put(tmp_path, LIBZ)
    link(tmp_path, "/lib", "usr/lib")
    link(tmp_path, f"{LIBRARIES}/libz.so.1", "libz.so.1.2.13")
    link(tmp_path, f"{LIBRARIES}/libz.so.0", "libz.so.1.2.13")
    put(
        tmp_path,
        "/etc/ld.so.conf.d/x86_64-linux-gnu.conf",
        f"# multiarch\n/usr/local/lib/x\n/lib/x86_64-linux-gnu\n{LIBRARIES}\n",
    )
    put(tmp_path, "/etc/environment", 'PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/snap/bin"\n')
    put(tmp_path, "/etc/profile", 'if [ "$PS1" ]; then\n  PATH="/usr/bin:/bin:/usr/games"\nfi\nexport PATH\n')
    paths = [f"/lib/x86_64-linux-gnu/{name}" for name in ("libz.so.1.2.13", "libz.so.1")]
    put(
        tmp_path,
        "/var/lib/dpkg/info/all.list",
        "\n".join(["/.", "/usr/bin", "/lib/x86_64-linux-gnu", FIND, PASSWD, PING, *paths]) + "\n",
    )
    return tmp_path


def survey(root: Path) -> dict[tuple[str, str], str]:
    patterns = [[each.pattern, each.rights] for each in load_privileged_programs()]
    request = json.dumps({"known": ["/etc/sovctl-own"], "privileged": patterns})
    command = [sys.executable, "-I", str(PROGRAMS_PROGRAM), request, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return {(kind, name): detail for kind, name, detail in json.loads(done.stdout)}


def test_a_healthy_node_has_no_rows(root: Path) -> None:
    assert survey(root) == {}


def test_a_repointed_library_is_reported_with_its_target(root: Path) -> None:
    put(root, f"{LIBRARIES}/libz.so.1.9")
    link(root, f"{LIBRARIES}/libz.so.1", "libz.so.1.9")
    assert survey(root) == {
        ("library", f"{LIBRARIES}/libz.so.1"): f"link to {LIBRARIES}/libz.so.1.9, which is of no package",
        ("library", f"{LIBRARIES}/libz.so.1.9"): "of no package",
    }


@pytest.mark.parametrize(
    "path",
    [f"{LIBRARIES}/libevil.so.1", f"{LIBRARIES}/glibc-hwcaps/x86-64-v3/libz.so.1", "/usr/lib/libz.so.1"],
)
def test_an_additional_library_is_reported(root: Path, path: str) -> None:
    put(root, path)
    assert list(survey(root)) == [("library", path)]


def test_a_library_in_a_packaged_folder_of_the_linker_is_reported(root: Path) -> None:
    put(root, "/etc/ld.so.conf.d/vendor.conf", "/usr/lib/vendor\n")
    put(root, "/usr/lib/vendor/libx.so")
    assert survey(root) == {}  # the survey of files reports the unpackaged vendor.conf
    put(root, "/var/lib/dpkg/info/vendor.list", "/usr/lib/vendor\n/etc/ld.so.conf.d/vendor.conf\n")
    assert list(survey(root)) == [("library", "/usr/lib/vendor/libx.so")]


@pytest.mark.parametrize("name", ["libz.so.1.3.dpkg-new", "libz.la", "libz.a", "gconv-modules.cache", "python3.so.d"])
def test_files_that_the_linker_does_not_load_are_omitted(root: Path, name: str) -> None:
    put(root, f"{LIBRARIES}/{name}")
    assert survey(root) == {}


def test_links_to_nothing_and_alternatives_of_packages_are_omitted(root: Path) -> None:
    link(root, f"{LIBRARIES}/libgone.so", "libgone.so.2")
    put(root, f"{LIBRARIES}/blas/libblas.so.3")
    put(root, "/var/lib/dpkg/info/blas.list", f"{LIBRARIES}/blas\n{LIBRARIES}/blas/libblas.so.3\n")
    link(root, "/etc/alternatives/libblas.so.3", f"{LIBRARIES}/blas/libblas.so.3")
    link(root, f"{LIBRARIES}/libblas.so.3", "/etc/alternatives/libblas.so.3")
    assert survey(root) == {}


@pytest.mark.parametrize(("mode", "word"), [(0o4755, "set-user-ID"), (0o2755, "set-group-ID")])
def test_a_bit_that_no_package_ships_is_reported(root: Path, mode: int, word: str) -> None:
    (root / FIND.removeprefix("/")).chmod(mode)
    assert survey(root) == {("privileged program", FIND): f"{word} bit that its package does not ship"}


def test_another_bit_of_a_known_program_is_reported(root: Path) -> None:
    (root / PASSWD.removeprefix("/")).chmod(0o6755)
    assert survey(root) == {("privileged program", PASSWD): "set-group-ID bit that its package does not ship"}


@pytest.mark.parametrize("path", ["/var/tmp/su", "/usr/local/bin/su", "/usr/bin/su", "/root/x/su"])
def test_a_set_user_id_program_of_no_package_is_reported(root: Path, path: str) -> None:
    put(root, path, mode=0o4755)
    assert list(survey(root)) == [("privileged program", path)]


def test_a_mode_that_a_package_registers_is_not_reported(root: Path) -> None:
    (root / FIND.removeprefix("/")).chmod(0o2755)
    put(root, "/var/lib/dpkg/statoverride", f"root _ssh 2755 {FIND}\n")
    assert survey(root) == {}


@pytest.mark.skipif(os.getuid() != 0 or shutil.which("setcap") is None, reason="only root can set file capabilities")
def test_a_file_capability_is_reported_unless_the_package_sets_it(root: Path) -> None:
    for path in (PING, FIND):
        subprocess.run(["setcap", "cap_net_raw+ep", root / path.removeprefix("/")], check=True)
    assert survey(root) == {("privileged program", FIND): "file capability that its package does not ship"}


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("https_proxy=http://user:hunter2@192.0.2.9:3128", "https_proxy"),
        ("NO_PROXY=*", "NO_PROXY"),
        ("export LD_LIBRARY_PATH=/opt/x", "LD_LIBRARY_PATH"),
        ("PYTHONPATH=/opt/x", "PYTHONPATH"),
        ('PATH="/var/tmp/bin:/usr/bin"', "PATH"),
    ],
)
def test_a_variable_of_all_logins_is_reported_without_its_value(root: Path, line: str, name: str) -> None:
    put(root, "/etc/environment", f"LANG=C.UTF-8\n{line}\n")
    assert survey(root) == {("login variable", "/etc/environment"): f"sets {name} for all logins"}


@pytest.mark.parametrize(
    "line", ["# https_proxy=http://192.0.2.9", "LANG=C.UTF-8", "EDITOR=vi", 'PATH="$PATH:/usr/games"']
)
def test_other_lines_of_the_environment_are_not_reported(root: Path, line: str) -> None:
    put(root, "/etc/environment", f"{line}\n")
    assert survey(root) == {}


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("/etc/security/pam_env.conf", "https_proxy DEFAULT=http://192.0.2.9:3128"),
        ("/etc/systemd/system.conf", 'DefaultEnvironment="LD_PRELOAD=/opt/x.so"'),
    ],
)
def test_files_that_dpkg_compares_are_left_to_the_survey_of_files(root: Path, path: str, line: str) -> None:
    put(root, path, f"{line}\n")
    assert list(survey(root)) == [("login variable", path)]
    put(root, "/var/lib/dpkg/info/conf.list", f"{path}\n")
    assert survey(root) == {}


def test_a_tree_without_packages_is_not_a_healthy_node(tmp_path: Path) -> None:
    (tmp_path / "var/lib/dpkg/info").mkdir(parents=True)
    command = [sys.executable, "-I", str(PROGRAMS_PROGRAM), '{"known": [], "privileged": []}', str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "no database of packages\n")
