"""Logs and ledger of a site arrive at a SIEM over TLS, also after an outage, and without text of requests.

The SIEM is rsyslogd of this machine in the lab's network. Its authority differs from that of the site, and it admits
only peers that it knows.
"""

from __future__ import annotations

import json
import secrets
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from lab_site import EMAIL, IBAN, NAME, SENT, LabSite, sovctl_command, wait_for

from examples import IS_COMPLETE
from sovctl.engine.certificate_authority import Authority
from sovctl.support.errors import ExitCode

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(not IS_COMPLETE, reason="applies and removes log forwarding; runs with `make test-all`"),
]

ADDRESS, PORT = "10.77.0.1", 6514
LIMIT_S = 60.0
NODES, REPORTER = ("n1", "n2", "s1"), "reporter"
CHECK = "host.log-shipping"
# Sends one message over TLS without a certificate, and waits until the peer closes.
WITHOUT_CERTIFICATE = (
    "import socket, ssl, sys; c = ssl._create_unverified_context(); "
    f's = c.wrap_socket(socket.create_connection(("{ADDRESS}", {PORT}), 5)); '
    's.sendall(b"<13>1 2026-11-29T00:00:00Z n1 app - - - " + sys.argv[1].encode() + b"\\n"); s.settimeout(5); s.recv(1)'
)


@dataclass
class Siem:
    """A receiver of syslog, and what it has received as lines `host program: text`."""

    folder: Path
    authority: Authority
    site: LabSite
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def configure(self) -> None:
        """Write settings: both authorities are trusted, and nodes and reporter are permitted."""
        certificate, key = self.authority.issue("siem", IPv4Address(ADDRESS), now=datetime.now(UTC))
        trusted = self.folder / "trusted.pem"
        site_ca = self.site.state / "pki" / "ca.pem"
        trusted.write_bytes(site_ca.read_bytes() + self.authority.certificate_file.read_bytes())
        permitted = ", ".join(f'"{each}"' for each in (*NODES, REPORTER))
        (self.folder / "work").mkdir()
        (self.folder / "receiver.conf").write_text(
            f'''global(
  workDirectory="{self.folder}/work" DefaultNetstreamDriver="gtls" DefaultNetstreamDriverCAFile="{trusted}"
  DefaultNetstreamDriverCertFile="{certificate}" DefaultNetstreamDriverKeyFile="{key}"
)
module(load="imtcp" StreamDriver.Name="gtls" StreamDriver.Mode="1" StreamDriver.AuthMode="x509/name"
  PermittedPeer=[{permitted}])
input(type="imtcp" port="{PORT}" address="{ADDRESS}" ruleset="store")
template(name="text" type="string" string="%hostname% %programname%: %msg%\\n")
ruleset(name="store") {{
  action(type="omfile" file="{self.folder}/received.log" template="text")
}}
'''
        )

    def start(self) -> None:
        """Start the receiver in the lab's network."""
        words = ["rsyslogd", "-n", "-f", str(self.folder / "receiver.conf"), "-i", str(self.folder / "receiver.pid")]
        with (self.folder / "receiver.err").open("ab") as log:
            self._process = subprocess.Popen(["ip", "netns", "exec", NAME, *words], stdout=log, stderr=log)

    def stop(self) -> None:
        """End the receiver."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(20)

    @property
    def received(self) -> list[str]:
        """Lines received so far."""
        file = self.folder / "received.log"
        return file.read_text().splitlines() if file.exists() else []

    @property
    def lines(self) -> set[str]:
        """Received lines with single spaces; rsyslog keeps a space before some texts."""
        return {" ".join(line.split()) for line in self.received}

    def verdict(self) -> dict[str, str]:
        """Return the verdict of `host.log-shipping` of each node."""
        accept = (ExitCode.OK, ExitCode.FAILURE)
        report = self.site.run_json("verify", str(self.site.file), "--check", CHECK, accept=accept)
        return {each["target"]: each["verdict"] for each in report["results"] if each["target"] in NODES}


@pytest.fixture(scope="module")
def siem(site: LabSite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Siem]:
    """Return the SIEM of a site that forwards its logs; afterwards the site does not."""
    folder = tmp_path_factory.mktemp("siem")
    authority = Authority(folder / "pki", "siem")
    authority.ensure(now=datetime.now(UTC))
    siem = Siem(folder, authority, site)
    siem.configure()
    logs = {"address": ADDRESS, "port": PORT, "ca_file": str(authority.certificate_file), "server_name": "siem"}

    def change(values: dict[str, Any]) -> None:
        values["host"] = {**values.get("host", {}), "logs": {**logs, "client_certificate": True}}

    siem.start()
    try:
        with site.edited(change):
            site.mend()
            yield siem
        site.mend()
    finally:
        siem.stop()


def log(siem: Siem, node: str, *texts: str) -> list[str]:
    """Write messages on a node; return the lines that the SIEM must receive."""
    siem.site.on(node, "; ".join(f"logger -t sovtest {shlex.quote(text)}" for text in texts))
    return [f"{node} sovtest: {text}" for text in texts]


def arrive(siem: Siem, lines: list[str]) -> None:
    """Wait until the SIEM has all lines."""
    wait_for(f"{len(lines)} lines at the SIEM", lambda: set(lines) <= siem.lines, limit_s=LIMIT_S)


def test_messages_of_every_node_arrive_with_its_name(siem: Siem) -> None:
    arrive(siem, [line for node in NODES for line in log(siem, node, f"mark {secrets.token_hex(8)}")])
    assert siem.verdict() == dict.fromkeys(NODES, "PASS")


def test_a_request_leaves_no_text_at_the_siem(siem: Siem) -> None:
    siem.site.wait_for_pool()
    assert siem.site.chat("private", SENT, stream=False)["route"] == "pool"
    arrive(siem, log(siem, "s1", f"after {secrets.token_hex(8)}"))
    assert not [line for line in siem.received if IBAN in line or EMAIL in line]


def test_messages_of_an_outage_arrive_after_it(siem: Siem) -> None:
    siem.stop()
    lines = log(siem, "n1", *(f"outage {secrets.token_hex(8)}" for _ in range(20)))
    assert siem.verdict() == dict.fromkeys(NODES, "FAIL")
    assert not set(lines) & siem.lines
    siem.start()
    arrive(siem, lines)
    arrive(siem, [line for node in NODES for line in log(siem, node, f"back {secrets.token_hex(8)}")])
    assert siem.verdict() == dict.fromkeys(NODES, "PASS")


def test_a_sender_without_certificate_is_not_heard(siem: Siem) -> None:
    forged = secrets.token_hex(8)
    words = ["ip", "netns", "exec", NAME, sys.executable, "-c", WITHOUT_CERTIFICATE, forged]
    subprocess.run(words, capture_output=True, timeout=30, check=False)
    arrive(siem, log(siem, "n1", f"later {secrets.token_hex(8)}"))
    assert forged not in "\n".join(siem.received)


@pytest.mark.parametrize("form", ["cef", "ocsf", "ecs"])
def test_the_ledger_arrives_as_events(siem: Siem, form: str) -> None:
    certificate, key = siem.authority.issue(REPORTER, IPv4Address(ADDRESS), now=datetime.now(UTC))
    trust = ["--ca-file", str(siem.authority.certificate_file), "--certificate", str(certificate), "--key", str(key)]
    target = ["--syslog", f"{ADDRESS}:{PORT}", "--format", form]
    command = sovctl_command("report", "siem", str(siem.site.file), *target, *trust)
    done = subprocess.run(["ip", "netns", "exec", NAME, *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    kept = siem.site.run("report", "siem", str(siem.site.file), "--format", form)
    *_, newest = kept.stdout.splitlines()
    if form != "cef":
        json.loads(newest)
    wait_for("the newest event", lambda: any(newest in line for line in siem.received), limit_s=LIMIT_S)
