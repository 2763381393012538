"""Enrolment of nodes against real ssh servers on loopback: only the witnessed key enters the file of host keys."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import paramiko
import pytest
import warm_processes
from cli_sites import ADDRESSES, closed_port, make_site
from ssh_doors import Doors, known_host_lines, ssh_doors

from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.signing import load_or_create
from sovctl.support.errors import ExitCode

NODE, ADDRESS = "hgx-1", ADDRESSES[0]


def fingerprint(key: paramiko.PKey) -> str:
    return "SHA256:" + base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode().rstrip("=")


@dataclass
class Scene:
    """A site, and the ssh servers of its nodes."""

    folder: Path
    doors: Doors

    @property
    def known_hosts(self) -> Path:
        return self.folder / "access" / "known_hosts"

    def enrol(self, *words: str, key: str | None = None, witness: str = "anna") -> subprocess.CompletedProcess[str]:
        return self.run(NODE, "--fingerprint", key or fingerprint(self.doors.host_key), "--witness", witness,
                        "--read-at", "console", *words)  # fmt: skip

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return warm_processes.sovctl("bootstrap", "enrol", *words, cwd=self.folder, env=os.environ)

    def records(self) -> list[dict[str, object]]:
        ledger = self.folder / ".sovctl" / "ledger"
        found = [each.record for each in LedgerReader(ledger).entries()] if ledger.exists() else []
        return [each for each in found if each["type"] == "host-key-enrolled"]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with ssh_doors() as doors:
        make_site(tmp_path, ssh_port=doors.port)
        yield Scene(tmp_path, doors)


def test_writes_the_witnessed_key_with_its_origin(scene: Scene) -> None:
    done = scene.enrol("--json")
    assert done.returncode == ExitCode.OK, done.stderr
    assert json.loads(done.stdout)["is_new"] is True
    kept, added = scene.known_hosts.read_text().splitlines()
    assert kept == "# none yet"
    assert added.startswith(f"[{ADDRESS}]:{scene.doors.port} {scene.doors.host_key.get_name()} ")
    assert "witness=anna" in added
    assert "read-at=console" in added
    loaded = paramiko.HostKeys(str(scene.known_hosts)).lookup(f"[{ADDRESS}]:{scene.doors.port}")
    assert loaded is not None
    assert loaded[scene.doors.host_key.get_name()] == scene.doors.host_key
    (record,) = scene.records()
    assert record["fingerprint"] == fingerprint(scene.doors.host_key)
    assert (record["node"], record["witness"], record["read_at"]) == (NODE, "anna", "console")


def test_enrols_twice_without_a_second_line_or_record(scene: Scene) -> None:
    assert scene.enrol().returncode == ExitCode.OK
    before = scene.known_hosts.read_text()
    done = scene.enrol()
    assert done.returncode == ExitCode.OK
    assert "already enrolled" in done.stdout
    assert scene.known_hosts.read_text() == before
    assert len(scene.records()) == 1


def test_refuses_a_node_that_offers_another_key(scene: Scene) -> None:
    before = scene.known_hosts.read_text()
    done = scene.enrol(key=fingerprint(paramiko.ECDSAKey.generate()))
    assert done.returncode == ExitCode.FAILURE
    assert fingerprint(scene.doors.host_key) in done.stderr
    assert scene.known_hosts.read_text() == before
    assert not scene.records()


def test_writes_nothing_while_another_process_writes_the_ledger(scene: Scene) -> None:
    """A record that is left for that process would be dropped, because it accepts only some types."""
    before = scene.known_hosts.read_text()
    state = scene.folder / ".sovctl"
    key = load_or_create(state / "keys" / "ledger.key")
    with Ledger.open(state / "ledger", origin="sovctl.example-ministry/site", key=key):
        done = scene.enrol()
    assert done.returncode == ExitCode.BUSY, done.stderr
    assert scene.known_hosts.read_text() == before


def test_refuses_a_changed_key_until_the_old_one_is_named(scene: Scene) -> None:
    text = known_host_lines(scene.doors, other_keys=True)
    scene.known_hosts.write_text(text)
    old = fingerprint(
        next(iter((paramiko.HostKeys(str(scene.known_hosts)).lookup(f"[{ADDRESS}]:{scene.doors.port}") or {}).values()))
    )
    done = scene.enrol()
    assert done.returncode == ExitCode.FAILURE
    assert old in done.stderr
    assert scene.known_hosts.read_text() == text
    assert scene.enrol("--replaces", fingerprint(scene.doors.host_key)).returncode == ExitCode.BAD_INPUT
    assert scene.known_hosts.read_text() == text
    done = scene.enrol("--replaces", old)
    assert done.returncode == ExitCode.OK, done.stderr
    lines = scene.known_hosts.read_text().splitlines()
    assert len([line for line in lines if line.startswith(f"[{ADDRESS}]")]) == 1
    assert len(lines) == len(ADDRESSES)
    assert scene.records()[0]["replaced"] == [old]


def test_finds_a_hashed_entry_of_the_node(scene: Scene) -> None:
    scene.known_hosts.write_text(known_host_lines(scene.doors, other_keys=True))
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", scene.known_hosts], check=True, capture_output=True)
    assert ADDRESS not in scene.known_hosts.read_text()
    assert scene.enrol().returncode == ExitCode.FAILURE


def test_refuses_a_revoked_key(scene: Scene) -> None:
    scene.known_hosts.write_text(f"@revoked {known_host_lines(scene.doors).splitlines()[0]}\n")
    done = scene.enrol()
    assert done.returncode == ExitCode.FAILURE
    assert "is revoked" in done.stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("nowhere", "--fingerprint", f"SHA256:{'A' * 43}", "--witness", "anna"), "no node 'nowhere'"),
        ((NODE, "--fingerprint", "MD5:00:11", "--witness", "anna"), "--fingerprint: expected SHA256:"),
        ((NODE, "--fingerprint", f"SHA256:{'A' * 43}", "--witness", "two words"), "--witness: expected"),
    ],
)
def test_refuses_bad_words(scene: Scene, words: tuple[str, ...], problem: str) -> None:
    done = scene.run(*words, "--read-at", "bmc")
    assert done.returncode == ExitCode.BAD_INPUT
    assert problem in done.stderr
    assert "Traceback" not in done.stderr


def test_refuses_the_operator_as_witness(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_USER", "anna")
    done = scene.enrol(witness="Anna")
    assert done.returncode == ExitCode.BAD_INPUT
    assert "the witness is the operator" in done.stderr


def test_reports_a_node_without_an_ssh_server(tmp_path: Path) -> None:
    with closed_port() as port, ssh_doors() as doors:
        make_site(tmp_path, ssh_port=port)
        scene = Scene(tmp_path, doors)
        assert scene.enrol().returncode == ExitCode.UNREACHABLE


def test_has_no_option_of_trust_on_first_use() -> None:
    done = warm_processes.sovctl("bootstrap", "enrol", "--help", cwd=Path(), env=os.environ)
    options = {word.strip(",") for word in done.stdout.split() if word.startswith("--")}
    assert options == {
        "--fingerprint",
        "--from-seed",
        "--witness",
        "--read-at",
        "--state",
        "--replaces",
        "--json",
        "--help",
    }
