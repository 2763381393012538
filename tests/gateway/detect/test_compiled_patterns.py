"""Compiled patterns are kept between starts, and believed only where nobody else could have written them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import pytest

from sovctl.gateway.detect.text import compiled_patterns
from sovctl.gateway.detect.text.scanner import Hit, Pattern, Scanner

TEXT = "room 2024, to anna@example.com"
HITS: list[Hit] = [(9, 5, 0), (19, 0, 1)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where they are kept."""
    monkeypatch.delenv("CACHE_DIRECTORY", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "sovctl"


def scanned() -> list[Hit]:
    return Scanner([Pattern("[0-9]{4}"), Pattern("@", is_once=True)]).scan(TEXT)


def test_patterns_are_compiled_once_and_then_loaded(folder: Path) -> None:
    assert scanned() == HITS
    (kept,) = folder.iterdir()
    before = kept.stat()
    assert scanned() == HITS
    assert kept.stat().st_ino == before.st_ino
    assert (folder.stat().st_mode & 0o777, before.st_mode & 0o777) == (0o700, 0o600)


def test_another_process_has_the_same_patterns() -> None:
    """Whatever order its sets are in: a pattern that follows it would be compiled anew at every start."""
    program = """
from sovctl.gateway.detect import make_detector
from sovctl.gateway.detect.text import compiled_patterns
from sovctl.gateway.settings.detection.detect import DetectSettings
made = compiled_patterns._digest
compiled_patterns._digest = lambda *given: print(digest := made(*given)) or digest
make_detector(DetectSettings())
"""
    seen = [
        subprocess.run(
            [sys.executable, "-c", program], env=os.environ | {"PYTHONHASHSEED": seed}, stdout=PIPE, check=True
        )
        for seed in ("1", "2")
    ]
    assert len(seen[0].stdout.split()) > 10
    assert seen[0].stdout == seen[1].stdout


def test_a_set_in_use_is_kept_longer_than_newer_ones(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many sets of other settings do not make every start compile the sets that all settings have."""
    monkeypatch.setattr(compiled_patterns, "_MOST_KEPT", 2)
    assert scanned() == HITS
    (used,) = folder.iterdir()
    for number in range(1, 4):
        os.utime(used, (number, number))  # older than the sets that follow
        assert scanned() == HITS
        Scanner([Pattern(f"other {number}")])
        assert used in set(folder.iterdir())
    assert len(list(folder.iterdir())) == 2


def test_other_patterns_or_flags_are_kept_apart(folder: Path) -> None:
    assert scanned() == HITS
    assert Scanner([Pattern("[0-9]{4}")]).scan(TEXT) == HITS[:1]
    assert Scanner([Pattern("[0-9]{4}", has_start=False)]).scan(TEXT) == [(9, 0, 0)]
    assert len(list(folder.iterdir())) == 3


@pytest.mark.parametrize("cut", [0, 1000, -1])
def test_a_file_that_is_torn_is_made_anew(folder: Path, cut: int) -> None:
    assert scanned() == HITS
    (kept,) = folder.iterdir()
    data = kept.read_bytes()
    kept.write_bytes(data[:cut] if cut >= 0 else data[:-40] + bytes([data[-40] ^ 1]) + data[-39:])
    assert scanned() == HITS
    assert kept.read_bytes() == data


def test_a_file_of_other_patterns_in_its_place_is_believed_of_nobody_else(folder: Path) -> None:
    assert scanned() == HITS
    (kept,) = folder.iterdir()
    assert Scanner([Pattern("never")]).scan(TEXT) == []
    (other,) = set(folder.iterdir()) - {kept}
    kept.write_bytes(other.read_bytes())
    kept.chmod(0o666)  # so anybody may have done that
    assert scanned() == HITS


def test_a_folder_that_others_may_write_is_not_used(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    assert scanned() == HITS
    assert not list(folder.iterdir())


def test_a_link_in_the_folder_s_place_is_not_used(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    assert scanned() == HITS
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("home", ["/proc/none", "relative"])
def test_without_a_folder_patterns_are_compiled(home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CACHE_DIRECTORY", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", home)
    assert scanned() == HITS
    assert not list(tmp_path.iterdir())
