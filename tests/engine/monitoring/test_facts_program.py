"""The program that writes the facts of a node: real certificates, disks and files; the clock's tool is a stand-in."""

from __future__ import annotations

import json
import os
import re
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from sovctl.engine.resources.context import ROLES

PROGRAM = ROLES / "monitoring/files/metrics"
TRACKING = "0A4D0001,10.77.0.1,9,1763978400.1,{offset},0.000001,0.000002,-1.0,0.001,0.01,0.0002,0.0001,64.2,{leap}"
"""Output of `chronyc -c tracking` of chrony 4.3 in the lab, with another offset and leap status."""
STATISTICS = (
    'Nov 29 12:00:01 n1 rsyslogd-pstats: { "name": "%(name)s", "origin": "core.queue", "size": 0, "enqueued": 500, '
    '"full": 0, "discarded.full": %(full)d, "discarded.nf": 1, "maxqsize": 40 }'
)
"""Line of impstats of rsyslog 8.2302, with other numbers; see tests of `host.log-shipping`."""
END = datetime(2027, 3, 1, 12, tzinfo=UTC)


class Facts:
    """One node: a folder with its certificates and ledger, and the program's file."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "sovctl.prom"
        for name in ("tls", "ledger", "bin"):
            (folder / name).mkdir()
        self.statistics(0)
        self.clock(offset="-0.25", leap="Normal")
        self.certificate("node.pem", END, END - timedelta(days=1))
        (folder / "ledger/0001.jsonl").write_text("{}\n")
        os.utime(folder / "ledger/0001.jsonl", (1_700_000_000, 1_700_000_000))

    def statistics(self, *dropped: int, cut: str = "") -> None:
        """Write counters of rsyslog, one line for each number, between lines of other queues."""
        lines = [STATISTICS % {"name": "main Q", "full": 99}]
        lines += [STATISTICS % {"name": "sovctl-siem queue", "full": each} for each in dropped]
        (self.folder / "rsyslog.json").write_text("\n".join(lines) + "\n" + cut)

    def clock(self, *, offset: str, leap: str) -> None:
        """Set the output of chronyc."""
        path = self.folder / "bin/chronyc"
        path.write_text(f"#!/bin/sh\necho '{TRACKING.format(offset=offset, leap=leap)}'\n")
        path.chmod(0o755)

    def certificate(self, name: str, *ends: datetime) -> None:
        """Write certificates into one file."""
        key, subject = (
            ec.generate_private_key(ec.SECP256R1()),
            x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a")]),
        )
        made = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        made = made.not_valid_before(END - timedelta(days=90))
        pems = (made.not_valid_after(end).sign(key, hashes.SHA256()) for end in ends)
        (self.folder / "tls" / name).write_bytes(b"".join(p.public_bytes(serialization.Encoding.PEM) for p in pems))

    def measure(self, **changes: object) -> dict[str, float]:
        """Run the program once and return the values of its file by series."""
        settings = {
            "file": str(self.file),
            "every_s": 60,
            "stores": ["/", str(self.folder / "absent"), "/etc"],
            "certificates": str(self.folder / "tls"),
            "ledger": str(self.folder / "ledger"),
            "statistics": str(self.folder / "rsyslog.json"),
            "statistics_wait_s": 0,
        }
        (self.folder / "facts.json").write_text(json.dumps(settings | changes))
        environment = {"PATH": f"{self.folder / 'bin'}:/usr/bin:/bin"}
        command = ["python3", str(PROGRAM), "--config", str(self.folder / "facts.json"), "--once"]
        subprocess.run(command, check=True, env=environment, capture_output=True)
        lines = (line.rsplit(" ", 1) for line in self.file.read_text().splitlines() if not line.startswith("#"))
        return {name: float(value) for name, value in lines}


@pytest.fixture
def facts(tmp_path: Path) -> Facts:
    return Facts(tmp_path)


def test_all_facts_are_written_in_the_format_of_prometheus(facts: Facts) -> None:
    found = facts.measure()
    assert found["sovctl_clock_offset_seconds"] == -0.25
    assert found["sovctl_clock_synchronized"] == 1
    assert found['sovctl_certificate_expiry_timestamp_seconds{file="node.pem"}'] == END.timestamp() - 86400
    assert found["sovctl_ledger_written_timestamp_seconds"] == 1_700_000_000
    assert 0 < found['sovctl_store_free_bytes{store="/"}'] < found['sovctl_store_size_bytes{store="/"}']
    assert not [name for name in found if "/etc" in name or "absent" in name]
    assert {value for name, value in found.items() if "failed" in name} == {0}
    done = subprocess.run(["promtool", "check", "metrics"], input=facts.file.read_bytes(), check=False)
    assert done.returncode == 0


def test_the_file_is_replaced_as_a_whole_and_all_can_read_it(facts: Facts) -> None:
    facts.measure()
    before = facts.file.stat().st_ino
    facts.measure()
    assert facts.file.stat().st_ino != before
    assert facts.file.stat().st_mode & 0o777 == 0o644
    assert [path.name for path in facts.folder.glob("sovctl.prom*")] == ["sovctl.prom"]


def test_a_clock_without_a_source_has_no_offset(facts: Facts) -> None:
    facts.clock(offset="0.0", leap="Not synchronised")
    found = facts.measure()
    assert found["sovctl_clock_synchronized"] == 0
    assert "sovctl_clock_offset_seconds" not in found
    assert found['sovctl_facts_failed{fact="clock"}'] == 0


@pytest.mark.parametrize("fact", ["clock", "stores", "certificates", "ledger", "log_shipping"])
def test_a_fact_that_cannot_be_measured_is_marked_and_the_others_are_written(facts: Facts, fact: str) -> None:
    changes: dict[str, object] = {}
    if fact == "clock":
        (facts.folder / "bin/chronyc").write_text("#!/bin/sh\nexit 1\n")
    elif fact == "certificates":
        (facts.folder / "tls/broken.pem").write_text("no certificate\n")
    else:
        changes = {
            "stores": {"stores": ["/absent"]},
            "ledger": {"ledger": "/absent"},
            "log_shipping": {"statistics": "/absent"},
        }[fact]
    found = facts.measure(**changes)
    failed = {name for name, value in found.items() if re.match("sovctl_facts_failed", name) and value}
    assert failed == {f'sovctl_facts_failed{{fact="{fact}"}}'}
    assert len(found) > 5


def test_a_node_without_a_gateway_has_no_ledger(facts: Facts) -> None:
    assert "sovctl_ledger_written_timestamp_seconds" not in facts.measure(ledger="")


def test_dropped_messages_are_those_of_the_newest_line_of_the_queue_to_the_siem(facts: Facts) -> None:
    series = 'sovctl_log_messages_dropped_total{queue="sovctl-siem queue"}'
    assert facts.measure()[series] == 1  # `discarded.nf` of the line
    facts.statistics(
        3, 12, cut='Nov 29 12:00:11 n1 rsyslogd-pstats: { "name": "sovctl-siem queue", "discarded.full": 9'
    )
    found = facts.measure()
    assert found[series] == 13
    assert "# TYPE sovctl_log_messages_dropped_total counter" in facts.file.read_text()
    assert not [name for name in found if "main Q" in name]


def test_a_file_without_the_queue_is_not_measured_and_a_site_without_a_siem_has_none(facts: Facts) -> None:
    facts.statistics()
    found = facts.measure()
    assert found['sovctl_facts_failed{fact="log_shipping"}'] == 1
    assert not [name for name in found if "dropped" in name]
    found = facts.measure(statistics="")
    assert found['sovctl_facts_failed{fact="log_shipping"}'] == 0
