"""Events for a SIEM: OCSF, CEF and syslog."""

from __future__ import annotations

import json
import re
import socket
import threading
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.compliance.siem import cef, ocsf
from sovctl.compliance.siem.event import Event, event_of
from sovctl.compliance.siem.kinds import Severity
from sovctl.compliance.siem.syslog import message, parse_address, send
from sovctl.support.errors import InputError, MissingTool

EVIDENCE = {
    "type": "evidence",
    "run_id": "20261121T101500Z-3fa9",
    "sha256": "a" * 64,
    "raw_sha256": "b" * 64,
    "check_id": "clock.drift",
    "target": "n1",
    "verdict": "FAIL",
    "simulated": True,
}
APPLY = {"type": "apply-started", "time": "2026-11-21T10:00:00Z", "site": "bank", "simulated": False, "changes": 3}


def event(record: dict[str, Any] | None = None, **changes: Any) -> Event:
    return event_of("sovctl.bank/site", 7, (record or EVIDENCE) | changes)


def test_verdicts_decide_the_severity() -> None:
    found = {verdict: event(verdict=verdict).severity for verdict in ("FAIL", "UNKNOWN", "WARN", "PASS", "N/A")}
    assert found == {
        "FAIL": Severity.HIGH,
        "UNKNOWN": Severity.MEDIUM,
        "WARN": Severity.LOW,
        "PASS": Severity.INFORMATIONAL,
        "N/A": Severity.INFORMATIONAL,
    }


def test_evidence_is_an_ocsf_compliance_finding() -> None:
    value = json.loads(ocsf.line(event(), tool_version="0.1.0"))
    assert (value["class_uid"], value["category_uid"], value["type_uid"]) == (2003, 2, 200301)
    assert value["compliance"]["status_id"] == 3
    assert value["compliance"]["control"] == "clock.drift"
    assert value["severity_id"] == 4
    assert value["time"] == int(datetime(2026, 11, 21, 10, 15, tzinfo=UTC).timestamp() * 1000)
    assert value["metadata"]["labels"] == ["simulated"]
    assert value["unmapped"]["record"] == EVIDENCE
    assert {"finding_info", "resources", "metadata"} <= value.keys()


def test_other_entries_are_ocsf_base_events_with_their_content() -> None:
    value = json.loads(ocsf.line(event(APPLY), tool_version="0.1.0"))
    assert (value["class_uid"], value["activity_name"]) == (0, "apply-started")
    assert value["unmapped"]["record"]["changes"] == 3
    assert value["unmapped"]["ledger_index"] == 7


def test_cef_has_seven_header_fields_and_the_verdict() -> None:
    text = cef.line(event(), tool_version="0.1.0")
    assert text.startswith("CEF:0|sovctl|sovctl|0.1.0|evidence|clock.drift FAIL|8|")
    assert " dhost=n1 cat=configuration act=info outcome=FAIL " in text
    assert "cs2=true" in text


def _parsed(text: str) -> tuple[list[str], dict[str, str]]:
    """Read CEF back, as a receiver does."""
    *head, extension = re.split(r"(?<!\\)(?:\\\\)*\|", text, maxsplit=7)
    pairs = re.findall(r"(\w+)=((?:\\.|[^=\\])*?)(?= \w+=|$)", extension)
    return head, dict(pairs)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=40))
def test_no_value_breaks_a_line_or_a_field(text: str) -> None:
    for made in (event(target=text, check_id=text), event(APPLY, type=text)):
        line = cef.line(made, tool_version="0.1.0")
        assert "\n" not in line
        assert "\r" not in line
        assert _parsed(line)[1]["externalId"] == "7"
        assert len(ocsf.line(made, tool_version="0.1.0").splitlines()) >= 1
        assert json.loads(ocsf.line(made, tool_version="0.1.0"))["unmapped"]["ledger_index"] == 7
        assert "\n" not in ocsf.line(made, tool_version="0.1.0")


def test_an_unknown_entry_is_an_event_too() -> None:
    made = event_of("o", 0, {"type": "of-a-later-version"})
    assert made.time == ""
    assert json.loads(ocsf.line(made, tool_version="1"))["activity_name"] == "of-a-later-version"
    assert "rt=" not in cef.line(made, tool_version="1")


def test_syslog_messages_arrive_whole_and_in_order() -> None:
    sent = datetime(2026, 11, 28, 12, tzinfo=UTC)
    messages = [message(event(), f"event {number} é", host="controller", sent=sent) for number in range(100)]
    received = bytearray()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def receive() -> None:
            connection, _ = server.accept()
            with connection:
                while data := connection.recv(65536):
                    received.extend(data)

        thread = threading.Thread(target=receive)
        thread.start()
        assert send(messages, address="127.0.0.1", port=server.getsockname()[1], ca_file=None) == 100
        thread.join(10)
    assert bytes(received) == b"".join(messages)
    length, _, rest = bytes(received).partition(b" ")
    first = rest[: int(length)].decode()
    assert first == "<107>1 2026-11-28T12:00:00Z controller sovctl - - - event 0 é"


def test_an_absent_receiver_is_a_clear_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(MissingTool, match="syslog receiver failed"):
        send([b"x"], address="127.0.0.1", port=port, ca_file=None)


def test_addresses_have_host_and_port() -> None:
    assert parse_address("10.0.0.1:6514") == ("10.0.0.1", 6514)
    assert parse_address("[2001:db8::1]:514") == ("2001:db8::1", 514)
    for text in ("10.0.0.1", ":514", "host:", "host:0", "host:99999", "host:x"):
        with pytest.raises(InputError):
            parse_address(text)
