"""The stand-in packages, the repository, the wheelhouse and the models, as files."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sovctl.engine.lab.artifacts import apt_repository as repository
from sovctl.engine.lab.artifacts import gpu_packages, model_store, wheelhouse
from sovctl.engine.lab.artifacts.gpu_packages import DRIVER_VERSIONS, StandIn
from sovctl.engine.lab.linux.process import run

PACKAGES = gpu_packages.packages()
needs_dpkg = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="dpkg-deb is not on this machine")


def named(name: str, version: str = f"{DRIVER_VERSIONS[0]}-1") -> StandIn:
    return next(each for each in PACKAGES if (each.name, each.version) == (name, version))


def test_every_package_comes_in_two_versions() -> None:
    by_name: dict[str, list[str]] = {}
    for package in PACKAGES:
        if package.version != f"{gpu_packages.TOOLKIT_VERSION}-1":
            by_name.setdefault(package.name, []).append(package.version)
    assert {len(versions) for versions in by_name.values()} == {2}
    assert by_name["nvidia-open"] == ["580.126.20-1", "580.173.02-1"]
    assert by_name["datacenter-gpu-manager-4-cuda13"] == ["1:4.5.2-1", "1:4.6.0-1"]


def test_the_driver_family_is_bound_to_one_version_and_fabric_manager_is_not() -> None:
    assert "nvidia-kernel-open-dkms (= 580.126.20-1)" in named("nvidia-open").depends
    assert "nvidia-kernel-open-dkms (= 580.126.20-1)" in named("nvidia-driver-cuda").depends
    assert named("nvidia-fabricmanager").depends == ()


def test_no_two_packages_lay_the_same_file() -> None:
    laid = [
        path
        for package in PACKAGES
        if package.version in ("580.126.20-1", "1:4.5.2-1")
        for path in (*gpu_packages.contents(package), *package.links)
    ]
    assert len(laid) == len(set(laid))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda each: each.file_name)
def test_every_package_says_that_it_is_simulated(package: StandIn) -> None:
    assert "simulated" in gpu_packages.control(package)["control"][0]
    for path, (data, mode) in gpu_packages.contents(package).items():
        if mode == 0o755 or path.endswith((".service", "README.simulated")):
            assert b"simulated" in data, path


def test_every_module_that_a_program_needs_is_laid() -> None:
    for package in PACKAGES:
        for module, _, _ in package.programs.values():
            assert f"{module}.py" in package.modules


@needs_dpkg
def test_a_package_is_built_to_the_same_bytes_and_reads_as_the_real_one(tmp_path: Path) -> None:
    for pool in ("one", "two"):
        (tmp_path / pool).mkdir()
    first = gpu_packages.build(named("nvidia-driver-cuda"), tmp_path / "a", tmp_path / "one")
    second = gpu_packages.build(named("nvidia-driver-cuda"), tmp_path / "b", tmp_path / "two")
    assert first.read_bytes() == second.read_bytes()
    assert first.name == "nvidia-driver-cuda_580.126.20-1_amd64.deb"
    assert run(["dpkg-deb", "--field", first, "Package", "Version"], purpose="read").splitlines() == [
        "Package: nvidia-driver-cuda",
        "Version: 580.126.20-1",
    ]
    listed = run(["dpkg-deb", "--contents", first], purpose="list")
    assert re.search(r"-rwxr-xr-x root/root .* \./usr/bin/nvidia-smi\n", listed)


@needs_dpkg
def test_an_epoch_is_in_the_version_and_not_in_the_file_name(tmp_path: Path) -> None:
    deb = gpu_packages.build(named("datacenter-gpu-manager-4-cuda13", "1:4.5.2-1"), tmp_path / "a", tmp_path)
    assert deb.name == "datacenter-gpu-manager-4-cuda13_4.5.2-1_amd64.deb"
    assert run(["dpkg-deb", "--field", deb, "Version"], purpose="read").strip() == "1:4.5.2-1"


def test_maintainer_scripts_are_valid_shell() -> None:
    for package in PACKAGES:
        for name, (text, _) in gpu_packages.control(package).items():
            if name in ("postinst", "prerm"):
                subprocess.run(["sh", "-n"], input=text, text=True, check=True)


def test_the_release_file_binds_every_index(tmp_path: Path) -> None:
    (tmp_path / "Packages").write_text("Package: x\n")
    (tmp_path / "Packages.gz").write_bytes(b"\x1f\x8b")
    text = repository.release_text(tmp_path, date="Thu, 01 Jan 2026 00:00:00 GMT")
    digest = hashlib.sha256(b"Package: x\n").hexdigest()
    assert f"SHA256:\n {digest} 11 Packages\n" in text
    assert "Date: Thu, 01 Jan 2026 00:00:00 GMT\n" in text
    assert "simulated" in text


def test_wheels_are_fetched_only_by_hash_for_the_nodes_python(tmp_path: Path) -> None:
    command = wheelhouse.download_command(tmp_path / "lock.txt", tmp_path)
    for word in ("--require-hashes", "--no-deps", "--only-binary=:all:"):
        assert word in command
    assert command[command.index("--python-version") + 1] == "3.11"
    assert not [word for word in command if "index" in word]
    with_links = wheelhouse.download_command(tmp_path / "lock.txt", tmp_path, links=wheelhouse.TORCH_LINKS)
    assert with_links[-2:] == ["--find-links", wheelhouse.TORCH_LINKS]


def test_platforms_go_up_to_the_nodes_libc_and_no_further() -> None:
    found = wheelhouse.platforms()
    assert found[0] == "manylinux_2_36_x86_64"
    assert {"manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"} <= set(found)


@pytest.mark.parametrize("lock", wheelhouse.locks(has_vllm=True), ids=lambda path: path.name)
def test_every_line_of_a_lock_is_pinned_and_hashed(lock: Path) -> None:
    text = lock.read_text().replace("\\\n", " ")
    requirements = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert requirements
    for line in requirements:
        assert re.match(r"[A-Za-z0-9._-]+==\S+ +.*--hash=sha256:[0-9a-f]{64}", line), line[:60]


def test_a_wheel_that_no_lock_names_any_more_is_not_served(tmp_path: Path) -> None:
    one, two, served = tmp_path / "one", tmp_path / "two", tmp_path / "served"
    for folder, names in ((one, ["a-1.whl", "b-1.whl"]), (two, ["b-1.whl", "c-1.whl"])):
        folder.mkdir()
        for name in names:
            (folder / name).write_text(folder.name)
    wheelhouse.publish(served, [one, two])
    assert sorted(path.name for path in served.iterdir()) == ["a-1.whl", "b-1.whl", "c-1.whl"]
    wheelhouse.publish(served, [two])
    assert sorted(path.name for path in served.iterdir()) == ["b-1.whl", "c-1.whl"]
    assert (served / "b-1.whl").read_text() == "two"


def test_the_manifest_is_what_sha256sum_checks(tmp_path: Path) -> None:
    model_store.publish(tmp_path / "echo")
    done = subprocess.run(["sha256sum", "--check", "--strict", "MANIFEST"], cwd=tmp_path / "echo", capture_output=True)
    assert done.returncode == 0
    paths = [line.split("  ")[1] for line in (tmp_path / "echo" / "MANIFEST").read_text().splitlines()]
    assert paths == sorted(paths)
    assert "model.safetensors" in paths
    assert "MANIFEST" not in paths


def test_publishing_twice_gives_the_same_manifest(tmp_path: Path) -> None:
    model_store.publish(tmp_path / "echo")
    before = (tmp_path / "echo" / "MANIFEST").read_bytes()
    (tmp_path / "echo" / "left-over").write_text("x")
    model_store.publish(tmp_path / "echo")
    assert (tmp_path / "echo" / "MANIFEST").read_bytes() == before
