"""A sender with sovctl's configuration of rsyslog, and a receiver with TLS that requires client certificates."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import IPv4Address
from pathlib import Path

from loopback_ports import unused_port
from waiting import until

from sovctl.engine.certificate_authority import Authority
from sovctl.engine.resources.context import render


@dataclass
class Pair:
    """Two rsyslogd processes on loopback."""

    folder: Path
    program: str
    input_port: int
    names: tuple[str, ...] = ("sender", "receiver")

    @property
    def received(self) -> list[str]:
        file = self.folder / "received.log"
        return [line.strip() for line in file.read_text().splitlines()] if file.exists() else []

    @property
    def counters(self) -> str:
        file = self.folder / "statistics.json"
        return file.read_text() if file.exists() else ""

    @contextmanager
    def running(self, name: str) -> Iterator[None]:
        """Run the sender or the receiver."""
        words = [self.program, "-n", "-f", str(self.folder / f"{name}.conf"), "-i", str(self.folder / f"{name}.pid")]
        with (self.folder / f"{name}.err").open("ab") as log:
            process = subprocess.Popen(words, stdout=log, stderr=log)
            try:
                yield
            finally:
                process.terminate()
                process.wait(20)

    def send(self, numbers: range) -> None:
        """Send messages with these numbers to the sender's input."""

        def connect() -> socket.socket | None:
            try:
                return socket.create_connection(("127.0.0.1", self.input_port), timeout=5)
            except OSError:
                return None

        connection = until(connect, "the input of the sender")
        with connection:
            for number in numbers:
                connection.sendall(f"<13>1 2026-11-29T00:00:00Z n1 app - - - event {number}\n".encode())


def pair(folder: Path, program: str, *, client: str = "n1", permitted: str = "n1", queue_mib: int = 16) -> Pair:
    """Return a pair; `client` is the name in the sender's certificate, and `permitted` the receiver's only peer."""
    authority = Authority(folder / "pki", "bank")
    now = datetime.now(UTC)
    authority.ensure(now=now)
    server, server_key = authority.issue("siem", IPv4Address("127.0.0.1"), now=now)
    certificate, key = authority.issue(client, IPv4Address("127.0.0.2"), now=now)
    port, made = unused_port(), Pair(folder, program, unused_port())
    for name in made.names:
        (folder / f"{name}.work").mkdir()
    sender = render(
        "log_forwarding",
        "rsyslog.conf.j2",
        address="127.0.0.1",
        port=port,
        ca_file=str(authority.certificate_file),
        certificate_file=str(certificate),
        key_file=str(key),
        server_name="siem",
        queue_mib=queue_mib,
        statistics_file=str(folder / "statistics.json"),
    )
    # Only the waits are shorter than on a node.
    sender = sender.replace('interval="10"', 'interval="1"').replace('resumeInterval="10"', 'resumeInterval="1"')
    (folder / "sender.conf").write_text(
        f'''global(workDirectory="{folder}/sender.work")
module(load="imtcp")
input(type="imtcp" port="{made.input_port}" address="127.0.0.1")
{sender}'''
    )
    (folder / "receiver.conf").write_text(
        f'''global(
  workDirectory="{folder}/receiver.work" DefaultNetstreamDriver="gtls"
  DefaultNetstreamDriverCAFile="{authority.certificate_file}"
  DefaultNetstreamDriverCertFile="{server}" DefaultNetstreamDriverKeyFile="{server_key}"
)
module(load="imtcp" StreamDriver.Name="gtls" StreamDriver.Mode="1" StreamDriver.AuthMode="x509/name"
  PermittedPeer=["{permitted}"])
input(type="imtcp" port="{port}" address="127.0.0.1" ruleset="store")
template(name="text" type="string" string="%msg%\\n")
ruleset(name="store") {{
  action(type="omfile" file="{folder}/received.log" template="text")
}}
'''
    )
    return made
