"""Day one of a closed site on lab nodes: the outside with its builder, the inside with its controller, and the media.

Outside is this machine. Commands inside run in the controller's network namespace. `Outlet` drops and counts every
packet to another network.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from lab_site import COMMAND_LIMIT_S, Answer, LabSite, sovctl_command, succeed

from sovctl.engine.bootstrap.host_key import parse_host_key
from sovctl.engine.lab import layout
from sovctl.engine.lab.artifacts import debian_mirror, gpu_packages, model_store, wheelhouse
from sovctl.engine.lab.layout import Lab
from sovctl.engine.lab.linux import network
from sovctl.engine.lab.node import node
from sovctl.support.canonical_json import sha256_hex

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
IMPORTER, APPROVER, WITNESS = "carol", "dora", "erika"
SITE = "lab-mirror"
SEQUENCE = 2
"""Sequence of the site's bundle."""
MIRROR = "s2"
NODES = ("n1", "n2", MIRROR)
LIMIT_S = 300


@dataclass
class DayOne(LabSite):
    """A site with its builder.

    Args:
        outside: folder of the builder.
    """

    outside: Path = Path()

    def describe(self) -> None:
        """Write the site without its gateway: two GPU nodes, one with a pool, and the mirror."""
        values = yaml.safe_load(self.file.read_text())
        del values["gateway"], values["perimeter"]["clients"]
        for group in values["node_groups"]:
            group["nodes"] = [each for each in group["nodes"] if each["name"] in NODES]
        self.file.write_text(yaml.safe_dump(values, sort_keys=False))

    def forget(self) -> None:
        """Remove what `sovctl lab up` did instead of day one: the snapshot, its keys, and the file of host keys."""
        for folder in (self.store, self.state):
            shutil.rmtree(folder)
        for name in ("apt-key.asc", "known_hosts"):
            (self.folder / "access" / name).unlink()

    def inside(self, *arguments: str, environment: dict[str, str] | None = None) -> Answer:
        """Run a `sovctl` command in the namespace of the controller."""
        command, made = self._command(*arguments), os.environ | (environment or {})
        return subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_LIMIT_S, check=False, env=made)

    def _command(self, *arguments: str) -> list[str]:
        return [shutil.which("ip") or "ip", *network.inside(self.lab.namespace)[1:], *sovctl_command(*arguments)]

    def run(self, *arguments: str) -> Answer:
        """Run a `sovctl` command in the namespace of the controller."""
        return self.inside(*arguments)

    def succeed(self, *arguments: str) -> Answer:
        """Run a `sovctl` command in the namespace of the controller; fail if its exit code is not 0."""
        done = self.inside(*arguments)
        assert done.returncode == 0, f"sovctl {' '.join(arguments)} ended with {done.returncode}: {done.stderr}"
        return done

    def fingerprint(self, name: str) -> str:
        """Fingerprint of a node's host key, as on its console."""
        return parse_host_key(node.host_key(self.lab, layout.node_named(name)), where=name).fingerprint

    def enrol(self, name: str, fingerprint: str) -> Answer:
        """Enrol the host key of a node."""
        reading = ("--fingerprint", fingerprint, "--witness", WITNESS, "--read-at", "console")
        return self.inside("bootstrap", "enrol", name, str(self.file), *reading)

    def key(self, name: str) -> str:
        """Path of a private key."""
        return str(self.outside / "holders" / f"{name}.key")

    def public(self, name: str) -> str:
        """Path of a public key."""
        return str(self.outside / "holders" / f"{name}.vkey")

    def inventory(self) -> tuple[str, ...]:
        """Collect and export; return the options of `sovctl lock` for it."""
        self.succeed("inventory", "collect", str(self.file))
        exported, key = self.outside / "inventory.json", self.outside / "site.key"
        self.succeed("inventory", "export", str(self.file), "--sign", str(key), "-o", str(exported))
        return ("--inventory", str(exported), "--inventory-key", str(key.with_suffix(".vkey")))

    @cached_property
    def given(self) -> list[str]:
        """Inputs from outside: own files of the vendor, models, package sources, accepted licences, wheels."""
        own = self.outside / "own" / "debian-12"
        own.mkdir(parents=True)
        debs = [shutil.copy(each, own) for each in sorted(gpu_packages.ensure_packages().glob("*.deb"))]
        sums = "".join(f"{sha256_hex(Path(each).read_bytes())}  debian-12/{Path(each).name}\n" for each in debs)
        (own.parent / "SHA256SUMS").write_text(sums)
        model_store.publish(self.outside / "models" / "echo")
        names = {Path(each).name.partition("_")[0]: OWN for each in debs} | LICENCES
        common = {"by": "lab operator", "on": "2026-11-28", "because": "read"}
        rows = [{"name": name, "licence": licence, **common} for name, licence in sorted(names.items())]
        (self.outside / "licences.yaml").write_text(yaml.safe_dump({"accepted": rows}))
        (self.outside / "debian-12.list").write_text(debian_mirror.find().sources())
        links = [word for each in self.wheels for word in ("--find-links", each)]
        return [
            *("--sources", f"debian-12={self.outside / 'debian-12.list'}", "--own-files", str(own.parent)),
            *("--models", str(self.outside / "models"), "--accepted-licences", str(self.outside / "licences.yaml")),
            *("--index", "", *links),
        ]

    @cached_property
    def wheels(self) -> list[str]:
        """Folders of wheels of the lab's cache."""
        locks = wheelhouse.locks(has_vllm=True)
        return [str(wheelhouse.ensure_wheels(lock, progress=lambda _: None)) for lock in locks]

    def lock_arguments(self, name: str, base: tuple[str, ...]) -> list[str]:
        """Arguments of a lock of the site into a folder."""
        return ["lock", "site", str(self.file), "-o", str(self.outside / name), *base, *self.given]

    def lock(self, name: str, base: tuple[str, ...]) -> Path:
        """Lock the site into a folder."""
        succeed(*self.lock_arguments(name, base))
        return self.outside / name

    def fetch(self, lock: Path) -> Path:
        """Fetch all files of a lock into the folder `files`."""
        target = self.outside / "files"
        folders = [str(self.outside / "own"), str(self.outside / "models"), *self.wheels]
        places = (word for each in folders for word in ("--from", each))
        succeed("lock", "fetch", str(lock), "--to", str(target), *places)
        return target

    def ceremony(self) -> str:
        """Create keys and root; return the words of the root."""
        succeed("bundle", "keys", str(self.outside / "holders"), *ROOT_HOLDERS, APPROVER, ONLINE)
        trust = str(self.outside / "trust")
        keys = [word for name in ROOT_HOLDERS for word in ("--root-key", self.public(name))]
        keys += [word for name in TARGETS_HOLDERS for word in ("--targets-key", self.public(name))]
        succeed("bundle", "root", "init", trust, *keys, "--online-key", self.public(ONLINE))
        for name in ROOT_HOLDERS[:2]:
            said = succeed("bundle", "root", "sign", trust, "--key", self.key(name)).stdout
        return next(line.partition(" ")[2].strip() for line in said.splitlines() if line.startswith("words"))

    def build(self, name: str, files: Path, lock: Path, *, sequence: int, site: str = SITE) -> Path:
        """Build a bundle, signed by both holders and the builder."""
        store = self.outside / name
        keys = [word for each in (*TARGETS_HOLDERS, ONLINE) for word in ("--key", self.key(each))]
        where = ["--trust", str(self.outside / "trust"), "--site", site, "--sequence", str(sequence), "-o", str(store)]
        succeed("bundle", "build", "--files", str(files), "--lock", str(lock), *where, *keys)
        return store

    def build_small(self, name: str, *, sequence: int, site: str = SITE) -> Path:
        """Build a bundle of one small file."""
        folder = self.outside / f"{name}-files"
        folder.mkdir()
        (folder / "note").write_text(name)
        row = {"path": "note", "size": len(name), "sha256": sha256_hex(name.encode()), "kind": "own-file"}
        lock = self.outside / f"{name}.json"
        lock.write_text(json.dumps({"files": [row]}))
        return self.build(name, folder, lock, sequence=sequence, site=site)

    def media(self, store: Path, *names: str, size: str, only: Path | None = None) -> list[Path]:
        """Write media."""
        sticks = [self.outside / name for name in names]
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
        (self.folder / "import-policy.yaml").write_text(yaml.safe_dump(policy))

    @property
    def store(self) -> Path:
        """Store of the site."""
        return self.folder / "store"

    @property
    def missing(self) -> Path:
        """List of missing chunks."""
        return self.outside / "missing.txt"

    def receive_arguments(self, *sticks: Path) -> list[str]:
        """Arguments of an import by the first person."""
        into = ["--into", str(self.store), "--missing", str(self.missing), "--key", self.key(IMPORTER)]
        return ["import", "media", *map(str, sticks), "--site", str(self.file), *into]

    def receive(self, *sticks: Path, options: tuple[str, ...] = (), clock: dict[str, str] | None = None) -> Answer:
        """Import media.

        Args:
            clock: environment of a process with another clock.
        """
        return self.inside(*self.receive_arguments(*sticks), *options, environment=WITHOUT_SCANNER | (clock or {}))

    def kill_while_receiving(self, stick: Path) -> None:
        """Start an import and end it with SIGKILL as soon as its store changes."""
        before = _size(self.store / "incoming")
        command = self._command(*self.receive_arguments(stick))
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=os.environ | WITHOUT_SCANNER)
        until = time.monotonic() + LIMIT_S
        while process.poll() is None and time.monotonic() < until:
            if _size(self.store / "incoming") > before:
                break
        process.kill()
        assert process.wait(timeout=30) == -signal.SIGKILL

    def show(self) -> Any:
        """Return the bundle as the approver sees it."""
        return self.run_json("import", "show", str(SEQUENCE), "--into", str(self.store), "--site", str(self.file))

    def approve(self, name: str) -> Answer:
        """Approve the bundle as a person."""
        where = ("--into", str(self.store), "--site", str(self.file), "--key", self.key(name))
        return self.inside("import", "approve", str(SEQUENCE), *where, environment=WITHOUT_SCANNER)

    def written(self) -> dict[str, tuple[int, int]]:
        """Return size and time of change of each file that nodes wrote, without logs."""
        found = {}
        for upper in sorted(self.lab.state.glob("nodes/*/upper")):
            for path in upper.rglob("*"):
                if path.is_file() and "/var/log/" not in str(path):
                    found[str(path)] = (path.stat().st_size, path.stat().st_mtime_ns)
        return found


WITHOUT_SCANNER = {"PATH": str(Path(sys.executable).parent)}
"""Environment without clamscan, which has no definitions here: an import would end."""


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def contents(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a folder, by path."""
    root = folder.resolve()
    return {str(path.relative_to(root)): sha256_hex(path.read_bytes()) for path in root.rglob("*") if path.is_file()}


def flip_a_byte(stick: Path) -> str:
    """Damage one chunk of a medium; return its name."""
    chunk = max(stick.glob("chunks/*/*"), key=lambda path: path.stat().st_size)
    data = bytearray(chunk.read_bytes())
    data[1000] ^= 1
    chunk.write_bytes(data)
    return chunk.name


class Outlet:
    """Firewall of controller and router that drops and counts packets to other networks.

    The router of a lab is the only way out of the network of its nodes.
    """

    def __init__(self, lab: Lab) -> None:
        self._places = ((lab.namespace, "output"), (lab.router_namespace, "forward"))

    def close(self) -> None:
        """Load the rules; the counters begin with 0."""
        for namespace, hook in self._places:
            rules = f"""table ip outlet {{}}
delete table ip outlet
table ip outlet {{
  chain {hook} {{
    type filter hook {hook} priority 0; policy drop;
    {"ip daddr { 127.0.0.0/8, " + layout.MANAGEMENT_NETWORK + " } accept" if hook == "output" else ""}
    counter drop
  }}
}}
"""
            nft = [*network.inside(namespace), "nft", "-f", "-"]
            subprocess.run(nft, input=rules, text=True, check=True, timeout=LIMIT_S)

    def packets(self) -> dict[str, int]:
        """Return the number of dropped packets by hook."""
        return {hook: self._packets(namespace) for namespace, hook in self._places}

    def _packets(self, namespace: str) -> int:
        nft = [*network.inside(namespace), "nft", "-j", "list", "table", "ip", "outlet"]
        said = subprocess.run(nft, capture_output=True, text=True, check=True, timeout=LIMIT_S).stdout
        rules = [each["rule"]["expr"] for each in json.loads(said)["nftables"] if "rule" in each]
        (found,) = (part["counter"]["packets"] for rule in rules for part in rule if "counter" in part)
        return int(found)


def clock_at(folder: Path, when: str) -> dict[str, str]:
    """Return the environment of a process with another clock: libfaketime of Debian, which is not installed.

    Args:
        folder: for the package; created if absent.
        when: of faketime(1): `2019-05-01 00:00:00` or `+200d`.
    """
    if not folder.exists():
        folder.mkdir()
        for command in (["apt-get", "-q", "download", "libfaketime"], ["sh", "-c", "dpkg-deb -x libfaketime_*.deb ."]):
            subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=LIMIT_S)
    (library,) = folder.rglob("libfaketime.so.1")
    return {"LD_PRELOAD": str(library), "FAKETIME": when, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
