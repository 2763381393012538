"""`sovctl lock`: exit codes, refusals that write nothing, differences and checks."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import warm_processes
from local_archive import Archive

from sovctl.compliance.signing import SigningKey
from sovctl.engine.lock import inventory, programs
from sovctl.engine.lock.inventory import NodeStatus, PackageBase, SiteInventory
from sovctl.engine.validation.load import load
from sovctl.engine.validation.presets import write_preset
from sovctl.support.errors import ExitCode

PACKAGES = ("chrony", "nftables", "auditd", "python3-venv")
SYSTEM = {"id": "debian", "version": "12", "title": "Debian 12", "kernel": "6.1.0-30-amd64", "architecture": "x86_64"}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A site of one service node, its signed inventory, and an archive with the packages of such a node."""
    site = write_preset("lab", tmp_path, force=False).site
    text = site.read_text().replace("platform: dgx-h100 # 8 x H100 each, simulated", "platform: service")
    for section in ("fabric", "models", "pools", "gateway", "rollout"):
        start = text.index(f"\n{section}:")
        rest = text[start + 1 :]
        end = next(
            (start + 1 + at for at in range(1, len(rest)) if rest[at - 1] == "\n" and rest[at].isalpha()), len(text)
        )
        text = text[: start + 1] + text[end:]
    site.write_text(text)
    archive = Archive(tmp_path / "archive")
    for name in PACKAGES:
        archive.add(name)
    archive.publish()
    rows = [
        {"name": name, "licence": "test", "by": "head of IT", "on": "2026-11-20", "because": "made here"}
        for name in PACKAGES
    ]
    (tmp_path / "licences.yaml").write_text(json.dumps({"accepted": rows}))
    (tmp_path / "test.list").write_text(archive.sources())
    base = PackageBase("apt", "")
    nodes = tuple(
        NodeStatus(name=node.name, system=SYSTEM, virtualization="container", simulated=True, kernels=(), glibc="2.36",
                   python="3.11.2", repositories=(), devices=(), firmware=(), base=base.sha256)
        for _, node in load(site).spec.nodes()
    )  # fmt: skip
    key = SigningKey.generate()
    (tmp_path / "site.vkey").write_text(key.public.vkey("lab") + "\n")
    found = SiteInventory("lab", "2026-11-28T10:00:00Z", nodes, {base.sha256: base})
    inventory.write_signed(found, tmp_path / "inventory.json", key)
    yield tmp_path
    archive.close()


def sovctl(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return warm_processes.sovctl(*words, cwd=folder, env=os.environ)


def lock(folder: Path, output: str, *more: str) -> subprocess.CompletedProcess[str]:
    words = ["site.yaml", "-o", output, "--inventory", "inventory.json", "--inventory-key", "site.vkey"]
    words += ["--sources", "debian-12=test.list", "--accepted-licences", "licences.yaml"]
    words += [*([] if programs.can_isolate() else ["--no-closure-check"])]
    return sovctl(folder, "lock", *words, *more)


def test_locks_compares_and_checks(folder: Path) -> None:
    done = lock(folder, "a")
    assert done.returncode == ExitCode.OK, done.stderr
    assert (folder / "a/lock.json").is_file()
    assert lock(folder, "b").returncode == ExitCode.OK
    assert sovctl(folder, "lock", "diff", "a", "b").returncode == ExitCode.OK
    checked = sovctl(folder, "lock", "check", "a", "--json")
    assert json.loads(checked.stdout)["files"] >= 2
    assert checked.returncode == (ExitCode.OK if programs.can_isolate() else ExitCode.FAILURE)
    part = next((folder / "b").glob("debian-12-*.json"))
    part.write_text(part.read_text().replace("1.0", "1.1", 1))
    assert sovctl(folder, "lock", "diff", "a", "b").returncode == ExitCode.BAD_INPUT


def test_a_skipped_closure_check_is_recorded_and_reported(folder: Path) -> None:
    assert lock(folder, "a", "--no-closure-check").returncode == ExitCode.OK
    assert "not run: --no-closure-check" in (folder / "a/lock-report.txt").read_text()
    done = sovctl(folder, "lock", "check", "a")
    assert done.returncode == ExitCode.FAILURE
    assert "the closure check was not run" in done.stdout


def test_an_altered_inventory_is_refused_and_nothing_is_written(folder: Path) -> None:
    path = folder / "inventory.json"
    path.write_text(path.read_text().replace("2.36", "2.35"))
    done = lock(folder, "a")
    assert done.returncode == ExitCode.BAD_INPUT
    assert "altered" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "a").exists()


@pytest.mark.parametrize(
    ("words", "where"),
    [
        (["--sources", "debian-99=x.list"], "--sources"),
        (["--omit", "everything"], "--omit"),
        (["--index", "https://me:pw@mirror.example/simple"], "--index: the URL contains credentials"),
        (["--update", "chrony"], "--update"),
        (["--models", "absent", "--accepted-licences", "absent.yaml"], "absent.yaml"),
    ],
)
def test_bad_options_are_named(folder: Path, words: list[str], where: str) -> None:
    done = lock(folder, "a", *words)
    assert done.returncode == ExitCode.BAD_INPUT
    assert where in done.stderr
    assert "pw" not in done.stderr
    assert not (folder / "a").exists()


def test_an_inventory_needs_a_key(folder: Path) -> None:
    done = sovctl(folder, "lock", "site.yaml", "-o", "a", "--inventory", "inventory.json")
    assert done.returncode == ExitCode.BAD_INPUT
    assert "--inventory-key" in done.stderr
