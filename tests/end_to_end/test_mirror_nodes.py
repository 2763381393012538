"""Packages of a closed site from its mirror nodes: lock, fetch, bundle, import, apply, loss of a mirror, rollback.

The lab is of its own: two service nodes are mirrors, and n1 is their client. Nodes have no route out. The lock is
resolved from the archives of this machine's Debian 12, as outside of the site.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_site import LabSite, run, succeed
from mirror_site import write_site

from examples import IS_COMPLETE
from sovctl.engine.bundle.root import trusted_digest
from sovctl.engine.lab.artifacts import debian_mirror
from sovctl.engine.lab.layout import Lab
from sovctl.support.canonical_json import sha256_hex

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(not IS_COMPLETE, reason="sets up another lab with two mirrors; runs with `make test-all`"),
]

NAME = "sovmirror"
PACKAGE = "nginx-common"
"""Package of the bundle that no node but the mirrors has."""
REQUESTS = "sudo journalctl -t sovctl_mirror -o cat --no-pager"


class ClosedSite(LabSite):
    """The site with its builder outside, in one folder."""

    def path(self, name: str) -> str:
        """A path in the folder of the site."""
        return str(self.folder / name)

    def prepare(self) -> None:
        """Ceremony, persons, inventory and package sources."""
        holders = ("anna", "ben", "carol", "builder", "importer", "approver")
        succeed("bundle", "keys", self.path("holders"), *holders)
        roles = {"anna": ("root", "targets"), "ben": ("root", "targets"), "carol": ("root",), "builder": ("online",)}
        keys = [
            word
            for name, made in roles.items()
            for role in made
            for word in (f"--{role}-key", self.path(f"holders/{name}.vkey"))
        ]
        succeed("bundle", "root", "init", self.path("trust"), *keys)
        for name in ("anna", "ben"):
            succeed("bundle", "root", "sign", self.path("trust"), "--key", self.path(f"holders/{name}.key"))
        persons = [(self.folder / f"holders/{name}.vkey").read_text().strip() for name in ("importer", "approver")]
        policy = {"persons": persons, "accept_without_scanner": {"by": "lab operator", "reason": "own files of a test"}}
        (self.folder / "import-policy.yaml").write_text(json.dumps(policy))
        succeed("inventory", "collect", str(self.file))
        exported = ("--sign", self.path("inventory.key"), "-o", self.path("inventory.json"))
        succeed("inventory", "export", str(self.file), *exported)
        (self.folder / "debian.list").write_text(debian_mirror.find().sources())

    def publish(self, sequence: int, *own: str) -> None:
        """Lock, fetch, bundle, import and approve."""
        locks, content, bundle, stick = (
            self.path(f"{name}-{sequence}") for name in ("locks", "content", "bundle", "stick")
        )
        inventory = ("--inventory", self.path("inventory.json"), "--inventory-key", self.path("inventory.vkey"))
        sources = ("--sources", f"debian-12={self.path('debian.list')}", "--may-remove", "systemd-timesyncd")
        succeed("lock", str(self.file), "-o", locks, *inventory, *sources, "--omit", "models", *own)
        succeed("lock", "fetch", locks, "--to", content, *(("--from", own[1]) if own else ()))
        keys = [word for name in ("anna", "ben", "builder") for word in ("--key", self.path(f"holders/{name}.key"))]
        built = ("--lock", locks, "--trust", self.path("trust"), "--site", "lab", "--sequence", str(sequence))
        succeed("bundle", "build", "--files", content, *built, *keys, "-o", bundle)
        succeed("bundle", "media", bundle, "--size", "640MB", "--out", stick)
        root = trusted_digest(self.path("trust"), where="test")
        first = ("--expect-sequence", "1", "--expect-root", root) if sequence == 1 else ()
        into = ("--into", self.path("store"), "--site", str(self.file))
        missing = ("--missing", self.path("missing.txt"))
        succeed("import", stick, *into, *missing, "--key", self.path("holders/importer.key"), *first)
        succeed("import", "approve", str(sequence), *into, "--key", self.path("holders/approver.key"))

    def select(self, sequence: int) -> str:
        """Select a bundle; returns its id."""
        into = ("--into", self.path("store"), "--site", str(self.file))
        return str(self.run_json("mirror", "select", str(sequence), *into)["bundle"])


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClosedSite]:
    """The applied site with its first bundle."""
    folder = tmp_path_factory.mktemp("closed") / "site"
    hidden = pytest.MonkeyPatch()
    succeed("lab", "down", "--name", NAME)
    succeed("lab", "up", "--name", NAME, "--preset", "ha", "--directory", str(folder))
    try:
        (folder / "access/site-apt-key.asc").write_text("created by `sovctl mirror select`\n")
        write_site(folder, namespace=Lab(NAME).namespace)
        site = ClosedSite(folder, lab=Lab(NAME))
        # Virus definitions are not packaged, so that an import with a scanner would end.
        hidden.setenv("PATH", _without("clamscan", folder.parent / "programs"))
        site.prepare()
        site.publish(1)
        (folder / "access/site-apt-key.asc").unlink()
        site.select(1)
        site.provision()
        yield site
    finally:
        hidden.undo()
        run("lab", "down", "--name", NAME)


def _without(program: str, folder: Path) -> str:
    """A PATH of links to all programs but one."""
    folder.mkdir()
    for place in reversed(os.environ["PATH"].split(os.pathsep)):
        for each in Path(place).iterdir() if Path(place).is_dir() else ():
            if each.name != program:
                link = folder / each.name
                link.unlink(missing_ok=True)
                link.symlink_to(each)
    assert shutil.which(program, path=str(folder)) is None
    return str(folder)


def test_the_site_is_applied_from_its_mirrors_over_tls(closed: ClosedSite) -> None:
    assert closed.applied is not None
    assert closed.applied.returncode == 0, closed.applied.stderr
    assert closed.changes() == {}
    assert closed.on("n1", "dpkg-query -W -f '${Status}' chrony").endswith("installed")
    assert "10.77.0.11" in closed.on("s1", REQUESTS)
    done = closed.run("verify", str(closed.file), "--check", "software.mirror-serves-snapshot")
    assert done.returncode == 0, done.stdout


def test_a_node_installs_from_the_second_mirror_if_the_first_is_lost(closed: ClosedSite) -> None:
    before = closed.on("s2", f"{REQUESTS} | wc -l")
    closed.on("s1", "sudo systemctl stop sovctl-mirror")
    try:
        closed.on("n1", f"sudo apt-get -q update && sudo apt-get -q -y install {PACKAGE}", limit_s=300)
        assert closed.on("n1", f"dpkg-query -W -f '${{Status}}' {PACKAGE}").endswith("installed")
        assert int(closed.on("s2", f"{REQUESTS} | wc -l")) > int(before)
    finally:
        closed.on("s1", "sudo systemctl start sovctl-mirror")
        closed.on("n1", f"sudo apt-get -q -y purge {PACKAGE}", limit_s=300)


def test_another_snapshot_and_its_rollback_are_planned(closed: ClosedSite) -> None:
    own = closed.folder / "own"
    own.mkdir()
    (own / "NOTE").write_text("note\n")
    (own / "SHA256SUMS").write_text(f"{sha256_hex('note' + chr(10))}  NOTE\n")
    row = {"name": "NOTE", "licence": "own", "by": "head of IT", "on": "2026-11-20", "because": "a test"}
    (closed.folder / "licences.json").write_text(json.dumps({"accepted": [row]}))
    closed.publish(2, "--own-files", str(own), "--accepted-licences", closed.path("licences.json"))
    ids = []
    for sequence in (2, 1):
        ids.append(closed.select(sequence))
        assert {"s1/mirror_snapshot/snapshot", "s2/mirror_snapshot/snapshot", "n1/repository/site-mirror"} <= (
            closed.changes().keys()
        )
        closed.apply()
        assert closed.changes() == {}
        for node in ("s1", "s2"):
            assert closed.on(node, "readlink /srv/sovctl/mirror/current") == f"snapshots/{ids[-1]}"
        assert ids[-1] in closed.on("n1", "cat /etc/apt/sovctl-mirrors.txt")
    assert sorted(closed.on("s1", "ls /srv/sovctl/mirror/snapshots").split()) == sorted(ids)
