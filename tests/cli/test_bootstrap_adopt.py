"""Adoption of nodes from exports, against real ssh servers on loopback."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import warm_processes
from cli_sites import ADDRESSES, NODES, make_site
from ssh_doors import Doors, ssh_doors

from bench.gathering.servers import can_serve, ssh_servers
from sovctl.engine.bootstrap import adoption
from sovctl.engine.bootstrap.node_export import ExportFormat, parse_export
from sovctl.engine.site.site import Site
from sovctl.support.errors import ExitCode, InputError

MAAS = [
    {"hostname": "hgx-1", "fqdn": "hgx-1.maas", "ip_addresses": [ADDRESSES[0]], "system_id": "abc123",
     "interface_set": [{"name": "eno1", "mac_address": "02:00:00:00:00:1A"}]},
]  # fmt: skip
FOREMAN = {"total": 1, "results": [{"name": "hgx-1.site.example", "ip": ADDRESSES[0], "mac": "02:00:00:00:00:1a"}]}


def adopt(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    done = warm_processes.sovctl("bootstrap", "adopt", "--witness", "anna", *words, cwd=folder, env=os.environ)
    assert "Traceback" not in done.stderr
    return done


def fingerprint(doors: Doors) -> str:
    return "SHA256:" + base64.b64encode(hashlib.sha256(doors.host_key.asbytes()).digest()).decode().rstrip("=")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (ExportFormat.MAAS, json.dumps(MAAS)),
        (ExportFormat.FOREMAN, json.dumps(FOREMAN)),
        (ExportFormat.CSV, f"name,address,mac\nhgx-1,{ADDRESSES[0]},02:00:00:00:00:1A\n"),
    ],
)
def test_reads_names_addresses_and_macs(kind: ExportFormat, text: str) -> None:
    node = parse_export(text, kind, where="export")["hgx-1"]
    assert (node.addresses, node.macs, node.fingerprint) == ((ADDRESSES[0],), ("02:00:00:00:00:1a",), None)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (ExportFormat.MAAS, "{}"),
        (ExportFormat.MAAS, "[1]"),
        (ExportFormat.FOREMAN, '{"total": 1}'),
        (ExportFormat.CSV, "name,address,fingerprnt\nhgx-1,10.0.0.1,x\n"),
        (ExportFormat.CSV, "name,address\nhgx-1,10.0.0.1\nhgx-1,10.0.0.2\n"),
        (ExportFormat.CSV, ""),
    ],
)
def test_refuses_another_form(kind: ExportFormat, text: str) -> None:
    with pytest.raises(InputError):
        parse_export(text, kind, where="export")


def test_enrols_what_the_export_names_and_reports_the_rest(tmp_path: Path) -> None:
    with ssh_doors() as doors:
        make_site(tmp_path, ssh_port=doors.port)
        rows = [
            (NODES[0], ADDRESSES[0], fingerprint(doors)),
            (NODES[1], ADDRESSES[1], f"SHA256:{'A' * 43}"),
            (NODES[2], "127.0.0.99", fingerprint(doors)),
            (NODES[3], ADDRESSES[3], ""),
        ]
        text = "".join(f"{','.join(row)}\n" for row in [("name", "address", "fingerprint"), *rows])
        (tmp_path / "nodes.csv").write_text(text)
        done = adopt(tmp_path, "--from", "nodes.csv", "--json")
        assert done.returncode == ExitCode.FAILURE
        found: dict[str, Any] = json.loads(done.stdout)
        outcomes = [each["outcome"] for each in found["nodes"]]
        assert outcomes == ["enrolled", "refused", "differs", "no-fingerprint", "absent", "absent"]
        # The servers of the test refuse logins, so that the agents were not searched.
        assert found["image_managers"] == {"hgx-1": "unknown"}
        lines = (tmp_path / "access" / "known_hosts").read_text().splitlines()
        assert len(lines) == 2
        assert "read-at=export" in lines[1]


def test_refuses_an_unknown_format_and_an_absent_file(tmp_path: Path) -> None:
    make_site(tmp_path, ssh_port=22)
    assert "unknown format 'bcm'" in adopt(tmp_path, "--from", "x", "--format", "bcm").stderr
    assert adopt(tmp_path, "--from", "absent.csv").returncode == ExitCode.BAD_INPUT


def test_finds_the_agent_of_an_image_based_manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not can_serve():
        pytest.skip("not run: requires root and sshd")
    make_site(tmp_path, ssh_port=22)
    (tmp_path / "ssh").mkdir()
    (tmp_path / "agent").mkdir()
    opened = Site.open(tmp_path / "site.yaml", touches_nodes=False)
    with ssh_servers(tmp_path / "ssh", [ADDRESSES[0]]) as servers:
        files = {"key_file": str(servers.key_file), "known_hosts_file": str(servers.known_hosts_file)}
        access = opened.spec.access.model_copy(update={"user": "root", "port": servers.port, **files})
        opened.spec = opened.spec.model_copy(update={"access": access})
        assert adoption.image_managers(opened, ["hgx-1"]) == {}
        monkeypatch.setitem(adoption.IMAGE_AGENTS, str(tmp_path / "agent"), "Example Manager")
        assert adoption.image_managers(opened, ["hgx-1"]) == {"hgx-1": "Example Manager"}
