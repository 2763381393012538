"""Redfish against sushy-emulator (OpenStack) with its fake driver, over TLS with a pinned certificate.

Not run without `sushy-emulator` in PATH or in SOVCTL_TEST_SUSHY. Refusals of certificates run everywhere.
"""

from __future__ import annotations

import json
import os
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
import warm_processes
from cli_sites import INVENTED_SECRET, make_site
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from loopback_ports import unused_port
from waiting import until

from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.engine.certificate_authority import Authority
from sovctl.support.errors import ExitCode

pytest.importorskip("redfish", reason="not run: the extra redfish is not installed")
EMULATOR = os.environ.get("SOVCTL_TEST_SUSHY") or shutil.which("sushy-emulator")
HOST = "127.0.0.1"


def sovctl(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    done = warm_processes.sovctl("bootstrap", "redfish", *words, cwd=folder, env=os.environ)
    assert "Traceback" not in done.stderr
    assert INVENTED_SECRET not in done.stdout + done.stderr
    return done


def certificate(folder: Path) -> tuple[Path, Path, str]:
    """A certificate, its key, and its SHA-256."""
    made, key = Authority(folder / "tls", "bmc").issue("bmc", IPv4Address(HOST), now=datetime.now(UTC))
    return made, key, x509.load_pem_x509_certificate(made.read_bytes()).fingerprint(hashes.SHA256()).hex()


def site(folder: Path, port: int, sha256: str) -> None:
    make_site(folder, ssh_port=22)
    path = folder / "secrets" / "bmc"
    path.touch(mode=0o600)
    path.write_text(INVENTED_SECRET + "\n")
    (folder / "bmc.yaml").write_text(
        f"version: 1\nnodes:\n  hgx-1: {{address: {HOST}, port: {port}, certificate_sha256: '{sha256}', "
        f"username: sovctl, password_file: secrets/bmc}}\n"
    )


@pytest.fixture
def emulated(tmp_path: Path) -> Iterator[Path]:
    """A site whose node hgx-1 has an emulated controller."""
    if EMULATOR is None:
        pytest.skip("not run: no sushy-emulator")
    made, key, sha256 = certificate(tmp_path)
    port = unused_port()
    systems = [{"uuid": "27946b59-9e44-4fa7-8e91-f3527a1ef094", "name": "hgx-1", "power_state": "Off", "nics": []}]
    config = tmp_path / "emulator.conf"
    config.write_text(f"SUSHY_EMULATOR_FAKE_DRIVER = True\nSUSHY_EMULATOR_FAKE_SYSTEMS = {systems!r}\n"
                      f"SUSHY_EMULATOR_STATE_DIR = {str(tmp_path / 'emulator')!r}\n")  # fmt: skip
    (tmp_path / "emulator").mkdir()
    words = [EMULATOR, "--fake", "--config", config, "-i", HOST, "-p", str(port)]
    with (tmp_path / "emulator.log").open("w") as log:
        process = subprocess.Popen(
            [*words, "--ssl-certificate", made, "--ssl-key", key], stdout=log, stderr=log, cwd=tmp_path
        )
        try:
            site(tmp_path, port, sha256)
            until(lambda: sovctl(tmp_path, "status", "hgx-1").returncode == ExitCode.OK, what="the emulator")
            yield tmp_path
        finally:
            process.terminate()
            process.wait()


def status(folder: Path) -> dict[str, Any]:
    done = sovctl(folder, "status", "hgx-1", "--json")
    assert done.returncode == ExitCode.OK, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_changes_power_over_the_emulator(emulated: Path) -> None:
    assert status(emulated)["power"] == "Off"
    done = sovctl(emulated, "power", "hgx-1", "on")
    assert done.returncode == ExitCode.OK, done.stderr
    until(lambda: status(emulated)["power"] == "On", what="the power")
    assert actions(emulated) == ["power on"]


def test_reports_a_controller_that_would_boot_from_the_drive_for_ever(emulated: Path) -> None:
    """The emulator stores the target, and always reports `Continuous`."""
    done = sovctl(emulated, "boot-once", "hgx-1")
    assert done.returncode == ExitCode.FAILURE
    assert "expected the boot source Cd, Once, got Cd, Continuous" in done.stderr


def actions(folder: Path) -> list[object]:
    records = [each.record for each in LedgerReader(folder / ".sovctl" / "ledger").entries()]
    return [each["action"] for each in records if each["type"] == "bmc-action"]


def test_inserts_and_ejects_an_image(emulated: Path) -> None:
    handler = type("Handler", (_Image,), {})
    with _server(handler, None) as port:
        url = f"http://{HOST}:{port}/seed.iso"
        done = sovctl(emulated, "insert-media", "hgx-1", url)
        assert done.returncode == ExitCode.OK, done.stderr
        assert any(each["image"] == url and each["inserted"] for each in status(emulated)["media"])
        assert sovctl(emulated, "insert-media", "hgx-1", url).returncode == ExitCode.OK
        done = sovctl(emulated, "insert-media", "hgx-1", f"{url}.other")
        assert done.returncode == ExitCode.FAILURE
        assert "another image is inserted" in done.stderr
    assert sovctl(emulated, "eject-media", "hgx-1").returncode == ExitCode.OK
    assert not any(each["inserted"] for each in status(emulated)["media"])


class _Image(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"image")

    def log_message(self, *_: object) -> None:
        pass


class _Controller(BaseHTTPRequestHandler):
    """A controller with sessions and one system, whose boot source is stored (DSP0266; DSP2046, ComputerSystem)."""

    seen: list[str]
    boot: dict[str, str]

    def answer(self, status: int, value: dict[str, Any], **headers: str) -> None:
        self.seen.append(f"{self.command} {self.path}")
        body = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        self.wfile.write(body)

    def body(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return found

    def do_GET(self) -> None:
        sessions = {"@odata.id": "/redfish/v1/SessionService/Sessions"}
        if self.path == "/redfish/v1/":
            self.answer(
                200, {"SessionService": {"@odata.id": "/redfish/v1/SessionService"}, "Links": {"Sessions": sessions}}
            )
        elif self.headers.get("X-Auth-Token") != "invented-token":
            self.answer(401, {})
        elif self.path == "/redfish/v1/Systems":
            self.answer(200, {"Members": [{"@odata.id": "/redfish/v1/Systems/1"}]})
        elif self.path == "/redfish/v1/Systems/1":
            self.answer(200, {"Id": "1", "Boot": self.boot}, ETag='"7"')
        else:
            self.answer(404, {})

    def do_POST(self) -> None:
        if self.body() == {"UserName": "sovctl", "Password": INVENTED_SECRET}:
            place = "/redfish/v1/SessionService/Sessions/1"
            self.answer(201, {}, X_Auth_Token="invented-token", Location=place)
        else:
            self.answer(401, {})

    def do_PATCH(self) -> None:
        values = self.body()
        if self.headers.get("If-Match") != '"7"':
            self.answer(412, {})
        else:
            self.boot.update(values["Boot"])
            self.answer(200, {})

    def do_DELETE(self) -> None:
        self.answer(204, {})

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def _server(handler: Any, context: ssl.SSLContext | None) -> Iterator[int]:
    server = HTTPServer((HOST, 0), handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def controlled(folder: Path, *, pinned: bool = True) -> Iterator[Any]:
    """A site whose node hgx-1 has a controller; yields the class of its handler."""
    made, key, sha256 = certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    handler: Any = type("Handler", (_Controller,), {"seen": [], "boot": {}})
    with _server(handler, context) as port:
        site(folder, port, sha256 if pinned else "0" * 64)
        yield handler


def test_boots_once_in_a_session_that_ends(tmp_path: Path) -> None:
    with controlled(tmp_path) as handler:
        done = sovctl(tmp_path, "boot-once", "hgx-1")
        assert done.returncode == ExitCode.OK, done.stderr
    assert handler.boot == {"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once"}
    assert handler.seen[-1] == "DELETE /redfish/v1/SessionService/Sessions/1"
    assert actions(tmp_path) == ["boot-once"]


def test_sends_no_request_to_a_server_with_another_certificate(tmp_path: Path) -> None:
    with controlled(tmp_path, pinned=False) as handler:
        done = sovctl(tmp_path, "boot-once", "hgx-1")
    assert done.returncode == ExitCode.UNREACHABLE
    assert "its TLS certificate is not the expected one" in done.stderr
    assert handler.seen == []
    assert not (tmp_path / ".sovctl" / "ledger").exists()


def test_a_refused_password_is_no_action(tmp_path: Path) -> None:
    with controlled(tmp_path) as handler:
        (tmp_path / "secrets" / "bmc").write_text("another\n")
        done = sovctl(tmp_path, "boot-once", "hgx-1")
    assert done.returncode == ExitCode.BAD_INPUT
    assert "refuses the login" in done.stderr
    assert handler.boot == {}


def test_a_power_action_without_support_is_reported(tmp_path: Path) -> None:
    with controlled(tmp_path) as handler:
        done = sovctl(tmp_path, "power", "hgx-1", "force-off")
    assert done.returncode == ExitCode.FAILURE
    assert "no action ComputerSystem.Reset" in done.stderr
    assert handler.boot == {}


def test_refuses_unknown_keys_nodes_and_open_secrets(tmp_path: Path) -> None:
    site(tmp_path, 443, "0" * 64)
    (tmp_path / "secrets" / "bmc").chmod(0o644)
    assert "readable by others" in sovctl(tmp_path, "status", "hgx-1").stderr
    assert "no management controller of 'hgx-2'" in sovctl(tmp_path, "status", "hgx-2").stderr
    text = (tmp_path / "bmc.yaml").read_text()
    (tmp_path / "bmc.yaml").write_text(text.replace("username:", "verify: false, username:"))
    done = sovctl(tmp_path, "status", "hgx-1")
    assert done.returncode == ExitCode.BAD_INPUT
    assert "nodes.hgx-1.verify: unknown key" in done.stderr
