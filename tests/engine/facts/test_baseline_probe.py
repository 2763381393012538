"""The baseline of a node: what changed since it was recorded is reported, and nothing else, from a real tree."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sovctl.engine.plan.baseline import PROGRAM

FILE = "var/lib/sovctl/baseline.json"
MANAGED = "/etc/nftables.conf"


def put(root: Path, path: str, text: str = "x\n") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


@pytest.fixture
def root(tmp_path: Path) -> Path:
    put(tmp_path, "etc/nsswitch.conf", "hosts: files dns\n")
    put(tmp_path, "etc/nftables.conf")
    put(tmp_path, "etc/systemd/system/chrony.service.d/50-site.conf")
    put(tmp_path, "root/.bashrc")
    (tmp_path / "var/lib").mkdir(parents=True)
    (tmp_path / "tmp").mkdir(mode=0o1777)
    (tmp_path / "tmp").chmod(0o1777)
    return tmp_path


def run(root: Path, **request: Any) -> Any:
    asked = json.dumps(
        {"known": [MANAGED, "/etc/systemd/system"], "units": ["chrony.service"], "settings": [], **request}
    )
    words = [sys.executable, "-I", str(PROGRAM), asked, str(root)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)


def record(root: Path, *keep: tuple[str, str]) -> str:
    found = run(root, action="record", keep=keep)
    assert found["entries"] > 3
    return str(found["sha256"])


def compare(root: Path, sha256: str) -> dict[str, str]:
    return {name: detail for _, name, detail in run(root, action="compare", sha256=sha256)}


def test_an_unchanged_node_has_no_row(root: Path) -> None:
    assert compare(root, record(root)) == {}


def test_before_the_first_record_there_is_no_row(root: Path) -> None:
    assert compare(root, "") == {}


@pytest.mark.parametrize(
    ("command", "path", "detail"),
    [
        ("echo x >> etc/nsswitch.conf", "/etc/nsswitch.conf", "changed since the last apply: content"),
        ("chmod 666 etc/nsswitch.conf", "/etc/nsswitch.conf", "changed since the last apply: mode 0666, was 0644"),
        ("rm etc/nsswitch.conf", "/etc/nsswitch.conf", "gone since the last apply"),
        ("ln -sf /dev/null etc/nsswitch.conf", "/etc/nsswitch.conf", "changed since the last apply: type; mode 0777"),
        ("mkdir etc/more", "/etc/more", "new since the last apply"),
        ("chmod 777 tmp", "/tmp", "changed since the last apply: mode 0777, was 1777"),
        ("echo proxy >> root/.bashrc", "/root/.bashrc", "content"),
        ("echo x > etc/systemd/system/cron.service", "/etc/systemd/system/cron.service", "new"),
        ("ln -s /dev/null etc/systemd/system/a.timer", "/etc/systemd/system/a.timer", "new"),
    ],
)
def test_a_change_has_a_row_with_what_changed(root: Path, command: str, path: str, detail: str) -> None:
    (root / "etc/nsswitch.conf").chmod(0o644)
    sha256 = record(root)
    subprocess.run(["sh", "-c", command], cwd=root, check=True)
    found = compare(root, sha256)
    assert set(found) - {"/etc", "/etc/systemd/system"} == {path}
    assert detail in found[path]


@pytest.mark.parametrize(
    "path",
    ["etc/nftables.conf", "etc/systemd/system/chrony.service.d/50-site.conf", "etc/mtab", "etc/passwd", "etc/sovctl/x"],
)
def test_what_has_a_row_of_its_own_or_changes_by_itself_has_none(root: Path, path: str) -> None:
    sha256 = record(root)
    put(root, path, "other\n")
    assert compare(root, sha256) == {}


def test_what_differed_before_an_apply_still_differs_after_it(root: Path) -> None:
    record(root)
    put(root, "etc/nsswitch.conf", "hosts: dns\n")
    put(root, "etc/new.conf")
    put(root, "etc/by_apply.conf")
    sha256 = record(root, ("changed file", "/etc/nsswitch.conf"), ("changed file", "/etc/new.conf"))
    assert set(compare(root, sha256)) == {"/etc/nsswitch.conf", "/etc/new.conf"}
    put(root, "etc/nsswitch.conf", "hosts: files dns\n")
    (root / "etc/new.conf").unlink()
    assert compare(root, sha256) == {}


def test_a_baseline_with_fewer_kinds_and_properties_is_compared_with_what_it_has(root: Path) -> None:
    record(root)
    old = json.loads((root / FILE).read_text())
    del old["changed file"]["/etc/nsswitch.conf"]["owner"]
    put(root, FILE, json.dumps(old))
    assert compare(root, hashlib.sha256((root / FILE).read_bytes()).hexdigest()) == {}
    del old["changed file"]
    put(root, FILE, json.dumps(old))
    assert compare(root, hashlib.sha256((root / FILE).read_bytes()).hexdigest()) == {}


@pytest.mark.parametrize("damage", [lambda file: file.unlink(), lambda file: file.write_text("{}")])
def test_a_changed_or_absent_baseline_has_a_row(root: Path, damage: Any) -> None:
    sha256 = record(root)
    damage(root / FILE)
    assert set(compare(root, sha256)) == {f"/{FILE}"}


def test_the_file_is_readable_by_root_only_and_has_no_content_of_files(root: Path) -> None:
    put(root, "etc/nsswitch.conf", "password = hunter2\n")
    record(root)
    assert (root / FILE).stat().st_mode & 0o777 == 0o600
    assert "hunter2" not in (root / FILE).read_text()


@pytest.mark.parametrize("planned", ["at the record", "at the comparison"])
def test_a_file_that_was_planned_at_one_of_both_times_has_no_row(root: Path, planned: str) -> None:
    more = {"known": ["/etc/nsswitch.conf"]}
    sha256 = run(root, action="record", keep=[], **(more if planned == "at the record" else {}))["sha256"]
    put(root, "etc/nsswitch.conf", "hosts: files\n")
    rows = run(root, action="compare", sha256=sha256, **(more if planned == "at the comparison" else {}))
    assert not [row for row in rows if row[1] == "/etc/nsswitch.conf"]
