"""Day one of a closed site, on real nodes with sshd only: inventory, lock, bundle on three media, and import.

Outside is this machine; inside is the state folder of the site. Only inventory and a snapshot cross the wall.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
import yaml
from lab_site import Answer, run, sovctl_command, succeed
from lab_specimens import OwnLab

from sovctl.engine.bundle.lock_file import read_lock
from sovctl.engine.lab.artifacts import debian_mirror, gpu_packages, model_store, wheelhouse
from sovctl.support.canonical_json import sha256_hex

pytestmark = pytest.mark.lab

LICENCES = {
    "intel-cmplr-lib-ur": "Other/Proprietary License",
    "intel-openmp": "Other/Proprietary License",
    "oss-harmony": "unknown",
    "setuptools": "unknown",
    "tiktoken": "unknown",
}
"""Wheels of the lab that a person must accept."""
OWN = "vendor (own file)"
ROOT_HOLDERS, TARGETS_HOLDERS, ONLINE = ("anna", "ben", "carol"), ("anna", "ben"), "builder"
IMPORTER, APPROVER = "carol", "dora"
LIMIT_S = 300


@dataclass
class DayOne:
    """Folders of both sides of the wall.

    Args:
        lab: nodes without configuration.
        folder: outside the site.
    """

    lab: OwnLab
    folder: Path

    @property
    def site(self) -> str:
        """Path of site.yaml."""
        return str(self.lab.directory / "site.yaml")

    def key(self, name: str) -> str:
        """Path of a private key."""
        return str(self.folder / "holders" / f"{name}.key")

    def public(self, name: str) -> str:
        """Path of a public key."""
        return str(self.folder / "holders" / f"{name}.vkey")

    def inventory(self) -> list[str]:
        """Collect and export; return the options of `sovctl lock` for it."""
        succeed("inventory", "collect", self.site)
        exported, key = self.folder / "inventory.json", self.folder / "site.key"
        succeed("inventory", "export", self.site, "--sign", str(key), "-o", str(exported))
        return ["--inventory", str(exported), "--inventory-key", str(key.with_suffix(".vkey"))]

    @cached_property
    def given(self) -> list[str]:
        """Inputs from outside: own files of the vendor, models, package sources, accepted licences, wheels."""
        own = self.folder / "own" / "debian-12"
        own.mkdir(parents=True)
        debs = [shutil.copy(each, own) for each in sorted(gpu_packages.ensure_packages().glob("*.deb"))]
        sums = "".join(f"{sha256_hex(Path(each).read_bytes())}  debian-12/{Path(each).name}\n" for each in debs)
        (own.parent / "SHA256SUMS").write_text(sums)
        model_store.publish(self.folder / "models" / "echo")
        names = {Path(each).name.partition("_")[0]: OWN for each in debs} | LICENCES
        common = {"by": "lab operator", "on": "2026-11-28", "because": "read"}
        rows = [{"name": name, "licence": licence, **common} for name, licence in sorted(names.items())]
        (self.folder / "licences.yaml").write_text(yaml.safe_dump({"accepted": rows}))
        (self.folder / "debian-12.list").write_text(debian_mirror.find().sources())
        links = [word for each in self.wheels for word in ("--find-links", each)]
        return [
            *("--sources", f"debian-12={self.folder / 'debian-12.list'}", "--own-files", str(own.parent)),
            *("--models", str(self.folder / "models"), "--accepted-licences", str(self.folder / "licences.yaml")),
            *("--index", "", *links),
        ]

    @cached_property
    def wheels(self) -> list[str]:
        """Folders of wheels of the lab's cache."""
        locks = wheelhouse.locks(has_vllm=True)
        return [str(wheelhouse.ensure_wheels(lock, progress=lambda _: None)) for lock in locks]

    def lock(self, name: str, base: list[str]) -> Path:
        """Lock the site into a folder."""
        succeed("lock", "site", self.site, "-o", str(self.folder / name), *base, *self.given)
        return self.folder / name

    def fetch(self, lock: Path) -> Path:
        """Fetch all files of a lock into the folder `files`."""
        target = self.folder / "files"
        folders = [str(self.folder / "own"), str(self.folder / "models"), *self.wheels]
        succeed(
            "lock", "fetch", str(lock), "--to", str(target), *(word for each in folders for word in ("--from", each))
        )
        return target

    def ceremony(self) -> str:
        """Create keys and root; return the words of the root."""
        succeed("bundle", "keys", str(self.folder / "holders"), *ROOT_HOLDERS, APPROVER, ONLINE)
        trust = str(self.folder / "trust")
        keys = [word for name in ROOT_HOLDERS for word in ("--root-key", self.public(name))]
        keys += [word for name in TARGETS_HOLDERS for word in ("--targets-key", self.public(name))]
        succeed("bundle", "root", "init", trust, *keys, "--online-key", self.public(ONLINE))
        for name in ROOT_HOLDERS[:2]:
            said = succeed("bundle", "root", "sign", trust, "--key", self.key(name)).stdout
        return next(line.partition(" ")[2].strip() for line in said.splitlines() if line.startswith("words"))

    def build(self, files: Path, lock: Path) -> Path:
        """Build a bundle, signed by both holders and the builder."""
        store = self.folder / "store"
        keys = [word for name in (*TARGETS_HOLDERS, ONLINE) for word in ("--key", self.key(name))]
        where = ["--trust", str(self.folder / "trust"), "--site", "lab", "-o", str(store)]
        succeed("bundle", "build", "--files", str(files), "--lock", str(lock), *where, *keys)
        return store

    def media(self, store: Path, *names: str, size: str, only: Path | None = None) -> list[Path]:
        """Write media."""
        sticks = [self.folder / name for name in names]
        for each in sticks:
            each.mkdir()
        outs = [word for each in sticks for word in ("--out", str(each))]
        succeed("bundle", "media", str(store), "--size", size, *outs, *(("--only", str(only)) if only else ()))
        return sticks

    def write_policy(self) -> None:
        """Write the policy of imports: two persons, and no virus scanner in the lab."""
        persons = [Path(self.public(name)).read_text().strip() for name in (IMPORTER, APPROVER)]
        accepted = {"by": "security office", "reason": "the lab has no virus definitions"}
        policy = {"persons": persons, "accept_without_scanner": accepted}
        (self.lab.directory / "import-policy.yaml").write_text(yaml.safe_dump(policy))

    def import_arguments(self, *sticks: Path) -> list[str]:
        """Arguments of an import by the first person."""
        inside = ["--into", str(self.inside), "--missing", str(self.folder / "missing.txt")]
        return ["import", "media", *map(str, sticks), "--site", self.site, *inside, "--key", self.key(IMPORTER)]

    @property
    def inside(self) -> Path:
        """Store of the site."""
        return self.lab.directory / "store"

    def show(self) -> Answer:
        """Show bundle 1 to the approver."""
        return run("import", "show", "1", "--into", str(self.inside), "--site", self.site, "--json")

    def approve(self, name: str) -> Answer:
        """Approve bundle 1 as a person."""
        return run("import", "approve", "1", "--into", str(self.inside), "--site", self.site, "--key", self.key(name))


def written_on(lab: OwnLab) -> dict[str, tuple[int, int]]:
    """Return size and time of change of each file that nodes wrote, without logs."""
    found = {}
    for upper in sorted(lab.lab.state.glob("nodes/*/upper")):
        for path in upper.rglob("*"):
            if path.is_file() and "/var/log/" not in str(path):
                found[str(path)] = (path.stat().st_size, path.stat().st_mtime_ns)
    return found


def flip_a_byte(stick: Path) -> str:
    """Damage one chunk of a medium; return its name."""
    chunk = max(stick.glob("chunks/*/*"), key=lambda path: path.stat().st_size)
    data = bytearray(chunk.read_bytes())
    data[1000] ^= 1
    chunk.write_bytes(data)
    return chunk.name


@pytest.fixture
def day_one(own_lab: OwnLab, tmp_path: Path) -> DayOne:
    return DayOne(own_lab, tmp_path)


def test_an_inventory_writes_nothing_but_logs_on_nodes(own_lab: OwnLab) -> None:
    before = written_on(own_lab)
    succeed("inventory", "collect", str(own_lab.directory / "site.yaml"))
    assert written_on(own_lab) == before


def test_from_nodes_with_sshd_to_a_published_snapshot(day_one: DayOne, monkeypatch: pytest.MonkeyPatch) -> None:
    """One medium is lost, a byte of another one is flipped, and the import is killed; the snapshot equals the lock."""
    base = day_one.inventory()
    lock, again = day_one.lock("locks", base), day_one.lock("locks-again", base)
    assert contents(lock) == contents(again)
    files = day_one.fetch(lock)
    words = day_one.ceremony()
    store = day_one.build(files, lock)
    first, second, lost = day_one.media(store, "stick1", "stick2", "stick3", size="300MB")
    flipped = flip_a_byte(second)
    day_one.write_policy()
    with monkeypatch.context() as inside:
        inside.setenv("PATH", str(Path(sys.executable).parent))  # without clamscan, which has no definitions here
        refused = run(*day_one.import_arguments(second, first))
        assert refused.returncode != 0
        assert "--expect-sequence" in refused.stderr
        expected = ("--expect-sequence", "1", "--expect-root", words)
        assert run(*day_one.import_arguments(second, first), *expected).returncode == 1
        missing = set((day_one.folder / "missing.txt").read_text().split())
        assert missing == {flipped} | {chunk.name for chunk in lost.glob("chunks/*/*")}
        (more,) = day_one.media(store, "stick4", size="400MB", only=day_one.folder / "missing.txt")
        kill_while_receiving(day_one, more)
        succeed(*day_one.import_arguments(more))
        shown = json.loads(day_one.show().stdout)
        assert {each["change"] for each in shown["differences"]} == {"added"}
        assert shown["nodes"]
        assert all(shown["nodes"].values())
        assert "another person" in day_one.approve(IMPORTER).stderr
        assert day_one.approve(APPROVER).returncode == 0
    published = contents(day_one.inside / "current")
    locked = {each.path: each.sha256 for each in read_lock(lock)[0]}
    assert locked.items() <= published.items()


def contents(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a folder, by path."""
    root = folder.resolve()
    return {str(path.relative_to(root)): sha256_hex(path.read_bytes()) for path in root.rglob("*") if path.is_file()}


def kill_while_receiving(day_one: DayOne, stick: Path) -> None:
    """Start an import and end it with SIGKILL as soon as its store changes."""
    incoming = day_one.inside / "incoming"
    before = sum(path.stat().st_size for path in incoming.rglob("*") if path.is_file())
    process = subprocess.Popen(sovctl_command(*day_one.import_arguments(stick)), stderr=subprocess.DEVNULL)
    until = time.monotonic() + LIMIT_S
    while process.poll() is None and time.monotonic() < until:
        if sum(path.stat().st_size for path in incoming.rglob("*") if path.is_file()) > before:
            break
    process.kill()
    assert process.wait(timeout=30) == -signal.SIGKILL
