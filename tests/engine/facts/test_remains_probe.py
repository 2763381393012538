"""Finding and removing remains: kept paths stay, files are overwritten, shared file systems are skipped."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sovctl.engine.facts.probes import remains_probe
from sovctl.engine.resources.removal.remains import PROGRAM


def call(command: str, **request: Any) -> str:
    argv = [sys.executable, "-I", str(PROGRAM), command, json.dumps(request)]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def find(paths: list[str], kept: list[str]) -> list[str]:
    answer = json.loads(
        call("find", paths={"data": paths}, kept=kept, accounts=["root", "no-such"], groups=[], blocks={})
    )
    assert answer["accounts"] == ["root"]
    return list(answer["paths"]["data"])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    (folder / "gateway" / "ledger").mkdir(parents=True)
    (folder / "gateway" / "ledger" / "tile").write_text("audit log")
    (folder / "gateway" / "vault.db").write_text("values")
    (folder / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "outside").write_text("not ours")
    return folder


def test_only_kept_paths_remain_and_links_are_not_followed(data: Path, tmp_path: Path) -> None:
    ledger = str(data / "gateway" / "ledger")
    assert find([str(data)], [ledger]) == [str(data)]
    assert call("remove", paths=[str(data)], kept=[ledger], erase=True) == "removed: 2\n"
    assert (data / "gateway" / "ledger" / "tile").read_text() == "audit log"
    assert (tmp_path / "outside").read_text() == "not ours"
    assert [each.name for each in (data / "gateway").iterdir()] == ["ledger"]
    assert find([str(data)], [ledger]) == []


def test_erased_files_are_overwritten_before_they_are_removed(data: Path, tmp_path: Path) -> None:
    vault, copy = data / "gateway" / "vault.db", tmp_path / "second name"
    copy.hardlink_to(vault)
    call("remove", paths=[str(vault)], kept=[], erase=True)
    assert not vault.exists()
    assert len(copy.read_bytes()) == len("values")
    assert copy.read_bytes() != b"values"


def test_a_removal_can_be_repeated(data: Path) -> None:
    paths = [str(data / "gateway"), str(data)]
    call("remove", paths=paths, kept=[], erase=False)
    assert call("remove", paths=paths, kept=[], erase=False) == "removed: 0\n"
    assert find(paths, []) == []


def test_network_file_systems_are_neither_found_nor_removed(data: Path) -> None:
    mounted = {"/": "ext4", str(data): "nfs4"}
    assert remains_probe.shared(str(data / "gateway"), mounted)
    assert not remains_probe.is_left(str(data), set(), mounted)
    assert remains_probe.remove(str(data / "gateway"), set(), mounted, True) == 0
    assert (data / "gateway" / "vault.db").read_text() == "values"


def test_a_mount_point_of_a_local_disk_stays_as_an_empty_folder(data: Path) -> None:
    mounted = {"/": "ext4", str(data): "xfs"}
    assert remains_probe.is_left(str(data), set(), mounted)
    assert remains_probe.remove(str(data), set(), mounted, False) == 3
    assert data.is_dir()
    assert not remains_probe.is_left(str(data), set(), mounted)
