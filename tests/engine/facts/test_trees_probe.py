"""The program that writes and compares manifests finds every kind of change of a folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sovctl.engine.facts.trees import TreeState, parse_trees
from sovctl.engine.resources.software.tree import PROGRAM

MANIFEST = ".manifest"


def run(*arguments: str) -> str:
    command = [sys.executable, str(PROGRAM), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def compared(folder: Path, verb: str = "compare") -> TreeState:
    return parse_trees(run(verb, MANIFEST, str(folder)))[str(folder)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with files, a folder and a link, and its manifest."""
    made = tmp_path / "tree"
    (made / "lib").mkdir(parents=True)
    (made / "lib" / "a.py").write_text("a = 1\n")
    (made / "lib" / "b.py").write_text("b = 1\n")
    (made / "python").symlink_to("/usr/bin/python3")
    run("write", str(made), MANIFEST)
    return made


def _flip(folder: Path) -> None:
    path = folder / "lib" / "a.py"
    times = path.stat()
    path.write_text("a = 2\n")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _replace(folder: Path) -> None:
    other = folder / "lib" / "new"
    other.write_text("a = 2\n")
    times = (folder / "lib" / "a.py").stat()
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    other.rename(folder / "lib" / "a.py")


def _relink(folder: Path) -> None:
    (folder / "python").unlink()
    (folder / "python").symlink_to("/tmp/python3")


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a file was changed": (lambda folder: (folder / "lib" / "a.py").write_text("a = 22\n"), "lib/a.py: size"),
    "a byte was flipped and the time kept": (_flip, "lib/a.py: content"),
    "a file was replaced and the time kept": (_replace, "lib/a.py: content"),
    "a file was added": (lambda folder: (folder / "lib" / "x.pth").write_text("import x\n"), "lib/x.pth: not in the"),
    "a file was removed": (lambda folder: (folder / "lib" / "b.py").unlink(), "lib/b.py: missing"),
    "a folder was added": (lambda folder: (folder / "other").mkdir(), "other: not in the manifest"),
    "a link points elsewhere": (_relink, "python: target"),
    "a mode was changed": (lambda folder: (folder / "lib" / "a.py").chmod(0o666), "lib/a.py: mode"),
    "the mode of the folder was changed": (lambda folder: folder.chmod(0o777), ".: mode"),
    "a pipe was added": (lambda folder: os.mkfifo(folder / "pipe"), "pipe: not in the manifest"),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("verb", ["compare", "verify"])
def test_every_kind_of_change_is_found(name: str, verb: str, folder: Path) -> None:
    change, line = CHANGES[name]
    assert compared(folder, verb).changed == ()
    change(folder)
    [found] = compared(folder, verb).changed
    assert found.startswith(line)


def test_a_file_that_was_only_touched_or_copied_is_not_a_change(folder: Path) -> None:
    os.utime(folder / "lib" / "a.py", (1, 1))
    (folder / "lib" / "b.py").chmod(0o600)
    (folder / "lib" / "b.py").chmod(0o644)
    assert compared(folder).changed == ()


def test_a_large_file_whose_time_was_kept_is_left_to_verify(folder: Path) -> None:
    weights = folder / "weights"
    weights.write_bytes(bytes(17 << 20))
    run("write", str(folder), MANIFEST)
    times = weights.stat()
    with weights.open("r+b") as file:
        file.write(b"x")
    os.utime(weights, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert compared(folder).changed == ()
    assert compared(folder, "verify").changed == ("weights: content",)


def test_a_manifest_that_was_changed_with_the_file_has_another_digest(folder: Path) -> None:
    before = compared(folder)
    (folder / "lib" / "a.py").write_text("a = 22\n")
    run("write", str(folder), MANIFEST)
    after = compared(folder)
    assert after.changed == ()
    assert after.manifest_sha256 != before.manifest_sha256


@pytest.mark.parametrize("text", ["", "{}", "[]\n[1, 2]", '{"format": 1}\n["a", 1]\n'])
def test_a_damaged_manifest_has_no_digest(text: str, folder: Path) -> None:
    (folder / MANIFEST).write_text(text)
    assert compared(folder).manifest_sha256 is None or compared(folder).changed


def test_many_changes_are_counted(folder: Path) -> None:
    for number in range(50):
        (folder / f"{number}.pth").touch()
    changed = compared(folder).changed
    assert (len(changed), changed[-1]) == (41, "and 10 more")


def test_an_absent_folder_has_no_manifest(tmp_path: Path) -> None:
    assert (
        json.loads(run("compare", MANIFEST, str(tmp_path / "none")))[str(tmp_path / "none")]["manifest_sha256"] is None
    )
