"""Transmission to a SIEM by real rsyslog: mutual TLS, an outage of the receiver, and a restart of the sender."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from rsyslog_pair import pair
from waiting import until

PROGRAM = shutil.which("rsyslogd", path="/usr/sbin:/usr/bin")
GTLS = Path("/usr/lib/x86_64-linux-gnu/rsyslog/lmnsd_gtls.so")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        PROGRAM is None or not GTLS.exists(),
        reason="rsyslog and rsyslog-gnutls are not installed: forwarding was not run",
    ),
]


def numbers(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith("event ")]


def test_no_message_is_lost_while_the_receiver_is_down(tmp_path: Path) -> None:
    assert PROGRAM is not None
    made = pair(tmp_path, PROGRAM)
    with made.running("sender"):
        with made.running("receiver"):
            made.send(range(50))
            until(lambda: len(set(numbers(made.received))) == 50, "50 messages")  # a message can arrive twice
        made.send(range(50, 550))
        with made.running("receiver"):
            until(lambda: len(set(numbers(made.received))) == 550, "550 messages")
    assert set(numbers(made.received)) == {f"event {number}" for number in range(550)}
    assert "sovctl-siem queue" in made.counters


def test_a_restart_during_an_outage_loses_at_most_the_message_in_transmission(tmp_path: Path) -> None:
    assert PROGRAM is not None
    made = pair(tmp_path, PROGRAM)
    with made.running("sender"):
        made.send(range(300))
        until(lambda: '"enqueued": 300' in made.counters, "300 messages in the queue")
    assert any((tmp_path / "sender.work").iterdir())
    with made.running("receiver"), made.running("sender"):
        until(lambda: len(set(numbers(made.received))) >= 299, "299 messages")


def test_the_receiver_refuses_a_certificate_of_another_name(tmp_path: Path) -> None:
    assert PROGRAM is not None
    made = pair(tmp_path, PROGRAM, client="n2", permitted="n1")
    with made.running("receiver"), made.running("sender"):
        made.send(range(5))
        until(lambda: "not permitted" in (tmp_path / "receiver.err").read_text(), "the refusal")
    assert not numbers(made.received)
