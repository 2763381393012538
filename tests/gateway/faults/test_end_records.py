"""Exactly one record of the end of each request, also if its client leaves while that record is written."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from echo_upstream import EchoUpstream
from fault_givens import PROMPT
from surface_givens import API_KEY
from waiting import until


def calls(gateway: Any) -> float:
    """Calls to models that ended, over all workers."""
    text = gateway.request("GET", "/metrics")[2].decode()
    return sum(map(float, re.findall(r"^gen_ai_client_operation_duration_seconds_count\{.*\} (\S+)$", text, re.M)))


def is_idle(gateway: Any) -> bool:
    return b"sovctl_gateway_in_flight_requests 0.0\n" in gateway.request("GET", "/metrics")[2]


@pytest.mark.parametrize(("status", "reason"), [(200, "answered"), (503, "pool_unavailable")])
def test_a_client_that_leaves_while_the_end_is_recorded_adds_no_record(
    start: Callable[..., Any], pool: EchoUpstream, status: int, reason: str
) -> None:
    """With two workers another process writes the ledger; while it is stopped, the last record waits."""
    gateway = start(workers=2)
    pool.script.hold_answer, pool.script.status = threading.Event(), status
    before = calls(gateway)
    body = {"model": "inside", "messages": [{"role": "user", "content": PROMPT}]}
    connection = http.client.HTTPSConnection("127.0.0.1", gateway.port, context=gateway.tls, timeout=60)
    try:
        with closing(connection):
            connection.request("POST", "/v1/chat/completions", json.dumps(body), {"authorization": f"Bearer {API_KEY}"})
            until(lambda: pool.requests, "the pool is asked")
            os.kill(gateway.process.pid, signal.SIGSTOP)
            pool.script.hold_answer.set()
            until(lambda: calls(gateway) > before, "the end of the answer")
        until(lambda: is_idle(gateway), "the end of the request, whose client has left")
    finally:
        os.kill(gateway.process.pid, signal.SIGCONT)
    gateway.stop()
    ends = [each["reason"] for each in gateway.records() if each["type"] == "gateway.answer"]
    assert ends == [reason]
