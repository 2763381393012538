"""The probe, run for real, and what becomes of its answer: facts, or an error that says what was not measured."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sovctl.engine.facts import node
from sovctl.engine.facts.node import SIMULATION_MARK, InstalledPackage, Unit, parse_node
from sovctl.support.canonical_json import canonical_json
from sovctl.support.errors import SovctlError

PROBE = Path(node.__file__).parent / "probes" / "node_probe.py"


def probe(**request: Any) -> dict[str, Any]:
    """The answer of the real probe in a process of its own, as on a node."""
    whole = {"commands": {}, "hash": [], "read": [], "timeout_s": 60} | request
    command = [sys.executable, "-I", str(PROBE)]
    done = subprocess.run(command, input=json.dumps(whole), capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_files_are_described_by_content_mode_owner_and_time(tmp_path: Path) -> None:
    file = tmp_path / "a.conf"
    file.write_bytes(b"x = 1\n")
    file.chmod(0o640)
    (tmp_path / "link").symlink_to(file)
    (tmp_path / "folder").mkdir()
    files = probe(hash=[f"{tmp_path}/*", f"{tmp_path}/none/*"])["files"]
    assert files[str(file)] == {
        "mode": "0640",
        "uid": os.getuid(),
        "gid": os.getgid(),
        "size": 6,
        "mtime_ns": file.stat().st_mtime_ns,
        "sha256": hashlib.sha256(b"x = 1\n").hexdigest(),
    }
    assert files[str(tmp_path / "link")]["link"] == str(file)
    assert "sha256" not in files[str(tmp_path / "link")]
    assert str(tmp_path / "folder") not in files


def test_large_files_are_described_without_reading_them(tmp_path: Path) -> None:
    large = tmp_path / "weights"
    with large.open("wb") as file:
        file.truncate(16777217)
    entry = probe(hash=[str(large)])["files"][str(large)]
    assert entry["size"] == 16777217
    assert "sha256" not in entry


def test_texts_are_read_and_absent_ones_are_null(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes("größe: 1\n".encode() + b"\xff")
    texts = probe(read=[str(file), str(tmp_path / "none")])["texts"]
    assert texts == {str(file): "größe: 1\n\ufffd", str(tmp_path / "none"): None}


def test_commands_answer_with_their_exit_code_and_absent_ones_with_none() -> None:
    commands = {"ok": ["echo", "hi"], "no": ["sh", "-c", "echo why >&2; exit 3"], "absent": ["sovctl-no-such-command"]}
    answers = probe(commands=commands)["commands"]
    assert answers["ok"] == {"exit_code": 0, "stdout": "hi\n", "stderr": ""}
    assert answers["no"] == {"exit_code": 3, "stdout": "", "stderr": "why\n"}
    assert answers["absent"]["exit_code"] is None


def test_the_probe_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    before = {path: path.stat().st_mtime_ns for path in [tmp_path, *tmp_path.rglob("*")]}
    probe(hash=[f"{tmp_path}/**"], read=[str(tmp_path / "a")])
    assert {path: path.stat().st_mtime_ns for path in [tmp_path, *tmp_path.rglob("*")]} == before


def ran(stdout: str, exit_code: int | None = 0) -> dict[str, Any]:
    return {"exit_code": exit_code, "stdout": stdout, "stderr": ""}


CAPTURE: dict[str, Any] = {
    "node": "n1",
    "captured": "2026-11-21T09:00:00Z",
    "commands": {
        "packages": ran(
            "nvidia-open\t580.126.20-1\tamd64\tii \nnftables\t1.0.6\tamd64\tii \nold\t1\tamd64\trc \n"
            "half\t1\tamd64\tiU \nboth\t1\tamd64\tii \nboth\t2\ti386\tii \n"
        ),
        "holds": ran("nvidia-open\n"),
        "ruleset": ran("table inet sovctl {\n}\n"),
        "virtualization": ran("systemd-nspawn\n"),
        "kernel": ran("6.8.0-110-generic\n"),
        "architecture": ran("x86_64\n"),
        "sysctl": ran("net.core.rmem_max = 8\nnet.ipv4.tcp_rmem = 1\t2  3\n"),
        "units": ran(
            "Id=chrony.service\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled\n"
            "ActiveEnterTimestamp=@1763700000\n\nId=gone.service\nLoadState=not-found\nActiveState=inactive\n\n"
            "Id=x.timer\nLoadState=loaded\nActiveState=inactive\nUnitFileState=\nActiveEnterTimestamp=\n"
        ),
    },
    "files": {},
    "texts": {SIMULATION_MARK: "simulated\n"},
}


def test_a_capture_becomes_facts() -> None:
    facts = parse_node(CAPTURE)
    assert facts.packages == {
        "nvidia-open": InstalledPackage("580.126.20-1", is_held=True),
        "nftables": InstalledPackage("1.0.6", is_held=False),
        "both": InstalledPackage("1 and 2", is_held=False),
    }
    assert facts.units == {"chrony": Unit("active", "enabled", 1763700000), "x.timer": Unit("inactive", "", 0)}
    assert facts.ruleset == ("table inet sovctl {", "}")
    assert facts.sysctls == {"net.core.rmem_max": "8", "net.ipv4.tcp_rmem": "1 2 3"}
    assert (facts.simulated, facts.is_container) == (True, True)


def test_without_a_firewall_program_there_is_no_ruleset_and_that_is_no_empty_one() -> None:
    capture = copy.deepcopy(CAPTURE)
    capture["commands"]["packages"] = ran("nvidia-open\t580.126.20-1\tamd64\tii \n")
    capture["commands"]["ruleset"] = ran("", None)
    assert parse_node(capture).ruleset is None


def test_real_hardware_is_not_called_simulated() -> None:
    capture = copy.deepcopy(CAPTURE)
    capture["texts"][SIMULATION_MARK] = None
    assert not parse_node(capture).simulated


@pytest.mark.parametrize("name", ["packages", "holds", "ruleset", "sysctl", "units", "kernel", "architecture"])
def test_what_was_not_measured_stops_the_plan(name: str) -> None:
    capture = copy.deepcopy(CAPTURE)
    capture["commands"][name]["exit_code"] = None
    with pytest.raises(SovctlError, match="a plan requires all measurements") as caught:
        parse_node(capture)
    assert (name in caught.value.message, "n1" in caught.value.where) == (True, True)


@pytest.mark.parametrize("name", ["packages", "holds", "sysctl", "units"])
def test_what_is_not_understood_stops_the_plan(name: str) -> None:
    capture = copy.deepcopy(CAPTURE)
    capture["commands"][name]["stdout"] = "E: something else entirely\n"
    with pytest.raises(SovctlError, match="expected") as caught:
        parse_node(capture)
    assert "n1" in caught.value.where


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("files", 1.5),
        ("files", {"/a": None}),
        ("files", {"/a": {"size": "7"}}),
        ("files", {"/a": {"sha256": 7}}),
        ("files", {"/a": {"other": 7}}),
        ("texts", []),
        ("texts", {SIMULATION_MARK: 7}),
        ("commands", []),
    ],
)
def test_an_answer_of_another_form_stops_the_plan(part: str, value: object) -> None:
    capture = copy.deepcopy(CAPTURE) | {part: value}
    with pytest.raises(SovctlError, match="the capture has an unknown format") as caught:
        parse_node(capture)
    assert "n1" in caught.value.where


def test_a_name_that_is_no_text_can_stand_in_a_plan(tmp_path: Path) -> None:
    Path(os.fsdecode(bytes(tmp_path) + b"/caf\xe9.bin")).write_text("x")
    capture = copy.deepcopy(CAPTURE) | {"files": probe(hash=[f"{tmp_path}/*"])["files"]}
    [name] = parse_node(capture).files
    assert canonical_json(name) == json.dumps(f"{tmp_path}/caf\\udce9.bin").encode()


def test_a_command_without_result_in_time_is_not_measured() -> None:
    answer = probe(commands={"slow": ["sleep", "30"]}, timeout_s=0.2)
    assert answer["commands"]["slow"] == {"exit_code": None, "stdout": "", "stderr": "no result after 0.2 s"}
