"""Programs of the role: the stream of contents; absent and damaged ones, immutable snapshots, rollback, refusals."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sovctl.engine.resources.context import ROLES
from sovctl.support.canonical_json import sha256_hex

PROGRAM = ROLES / "mirror_snapshot/files/mirror_store"
SENDER = PROGRAM.with_name("send_contents")


class Node:
    """A mirror node, and the folder of the controller with the files of a snapshot."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.source = root.with_name("source")
        (root / "content").mkdir(parents=True)
        (root / "snapshots").mkdir()

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the program."""
        command = [sys.executable, PROGRAM, words[0], self.root, *words[1:]]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def manifest(self, files: dict[str, bytes]) -> str:
        """Copy a manifest; returns its SHA-256."""
        text = "".join(f"{sha256_hex(data)}  {path}\n" for path, data in sorted(files.items()))
        (self.root / "MANIFEST.new").write_text(text)
        return sha256_hex(text)

    def publish(self, name: str, files: dict[str, bytes]) -> list[str]:
        """Send what is missing and publish; returns the sent paths."""
        sha256 = self.manifest(files)
        for path, data in files.items():
            (self.source / path).parent.mkdir(parents=True, exist_ok=True)
            (self.source / path).write_bytes(data)
        said = self.run("missing", sha256).stdout
        rows = said.splitlines()
        assert self.send(said).returncode == 0
        done = self.run("publish", sha256, name)
        assert done.returncode == 0, done.stderr
        return [row[66:] for row in rows]

    def send(self, lines: str, *, receiver: str = "") -> subprocess.CompletedProcess[str]:
        """Send contents, without ssh to another machine."""
        receiver = receiver or shlex.join(["tar", "--extract", "--file=-", f"--directory={self.root / 'content'}"])
        command = [sys.executable, SENDER, self.source, receiver]
        return subprocess.run(command, input=lines, capture_output=True, text=True, check=False)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path / "mirror")


A = {"apt/a.deb": b"a", "apt/same.deb": b"a", "wheels/w.whl": b"w"}
B = {"apt/b.deb": b"b", "wheels/w.whl": b"w"}
C = {"apt/c.deb": b"c"}


def test_only_absent_contents_are_copied(node: Node) -> None:
    assert len(node.publish("a-1", A)) == 2
    assert node.publish("b-2", B) == ["apt/b.deb"]
    assert (node.root / "current/apt/b.deb").read_bytes() == b"b"
    assert (node.root / "snapshots/a-1/apt/same.deb").read_bytes() == b"a"
    assert (node.root / "current/MANIFEST").stat().st_mode & 0o777 == 0o444
    assert (node.root / "current/apt").stat().st_mode & 0o777 == 0o555


def test_a_rollback_copies_nothing_and_the_snapshot_before_the_last_is_removed(node: Node) -> None:
    node.publish("a-1", A)
    node.publish("b-2", B)
    assert node.publish("a-1", A) == []
    assert (node.root / "current").resolve().name == "a-1"
    node.publish("c-3", C)
    assert sorted(each.name for each in (node.root / "snapshots").iterdir()) == ["a-1", "c-3"]
    assert not (node.root / "content" / sha256_hex(b"b")[:2] / sha256_hex(b"b")).exists()


def test_a_damaged_content_is_copied_again_and_its_snapshot_is_rebuilt(node: Node) -> None:
    node.publish("a-1", A)
    damaged = node.root / "content" / sha256_hex(b"w")[:2] / sha256_hex(b"w")
    damaged.chmod(0o644)
    damaged.write_bytes(b"x")
    assert (node.root / "current/wheels/w.whl").read_bytes() == b"x"
    assert node.publish("a-1", A) == ["wheels/w.whl"]
    assert (node.root / "current/wheels/w.whl").read_bytes() == b"w"


def test_an_incomplete_or_other_content_is_not_published(node: Node) -> None:
    node.publish("a-1", A)
    sha256 = node.manifest(B)
    assert node.run("publish", sha256, "b-2").returncode != 0
    node.run("missing", sha256)
    (node.root / "content" / sha256_hex(b"b")[:2] / sha256_hex(b"b")).write_bytes(b"other")
    assert "damaged" in node.run("publish", sha256, "b-2").stderr
    assert (node.root / "current").resolve().name == "a-1"
    assert not (node.root / "snapshots/b-2").exists()


@pytest.mark.parametrize("name", ["..", ".x", "a/b", ""])
def test_other_ids_are_refused(node: Node, name: str) -> None:
    node.publish("a-1", A)
    assert node.run("publish", node.manifest(A), name).returncode != 0


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", ".x"])
def test_other_paths_are_refused(node: Node, path: str) -> None:
    sha256 = node.manifest({path: b"x"})
    assert "MANIFEST" in node.run("missing", sha256).stderr
    assert list((node.root / "content").iterdir()) == []


def test_another_manifest_than_planned_is_refused(node: Node) -> None:
    node.manifest(A)
    assert "differs from the plan" in node.run("missing", sha256_hex(b"other")).stderr


def test_an_interrupted_publication_is_repeated(node: Node) -> None:
    node.publish("a-1", A)
    shutil.copytree(node.root / "snapshots/a-1", node.root / "snapshots/.b-2.new")
    node.publish("b-2", B)
    assert sorted(each.name for each in (node.root / "snapshots").iterdir()) == ["a-1", "b-2"]


def test_a_receiver_that_fails_is_an_error(node: Node) -> None:
    node.source.mkdir()
    (node.source / "large").write_bytes(bytes(1 << 20))
    lines = f"{sha256_hex(bytes(1 << 20))}  large\n"
    for receiver in ("false", "sh -c 'cat >/dev/null; exit 3'"):
        assert node.send(lines, receiver=receiver).returncode == 1


def test_a_sent_content_is_read_only(node: Node) -> None:
    node.publish("a-1", A)
    assert {oct(path.stat().st_mode & 0o777) for path in (node.root / "content").glob("*/*")} == {"0o444"}
