"""Answers of `scripts/mutual_tls.py`, which connects with a client certificate, without one, and in plain HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...facts.unreadable import MALFORMED, Unreadable, excerpt
from ..model.check import Judgement, failed, passed, unknown
from ..model.probe import ProbeOutput
from ..model.probe_sections import parse_sections

CONTROL_PATH = "/health"
_REJECTED = frozenset({"closed", "tls-alert"})

Responses = Mapping[tuple[str, str], str]
"""Response by (connection, path); the connection is `certificate`, `no-certificate` or `plain`."""


def responses_of(output: ProbeOutput) -> Responses:
    """Parse the lines of `probes/scripts/mutual_tls.py`, one JSON object per attempt.

    Raises:
        Unreadable: a line has another form, or an attempt occurs twice.
    """
    responses: dict[tuple[str, str], str] = {}
    for line in parse_sections(output).text("ways").splitlines():
        row = _json_object(line)
        key = (str(row.get("door")), str(row.get("path")))
        if key in responses or not isinstance(row.get("answer"), str):
            raise Unreadable("each connection and path once, with an answer", line, where="mutual_tls")
        responses[key] = row["answer"]
    return responses


def control_failure(responses: Responses) -> Judgement | None:
    """Return UNKNOWN if the node's certificate is not accepted either, because rejections then prove nothing."""
    response = responses.get(("certificate", CONTROL_PATH), "none")
    return None if response == "http 200" else unknown(f"status 200 from {CONTROL_PATH} with a certificate", response)


def rejection(responses: Responses, connection: str, path: str) -> Judgement:
    """Return PASS if the server closed the connection or sent a TLS alert."""
    response = responses.get((connection, path))
    if response is None:
        return unknown(f"a response of {path} ({connection})", "none")
    if response in _REJECTED:
        return passed("rejected")
    is_answer = response.startswith("http ")
    return (failed if is_answer else unknown)(f"{path} ({connection}) rejected", excerpt(response))


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except MALFORMED:
        raise Unreadable("one JSON document", text, where="mutual_tls") from None
    if not isinstance(value, dict):
        raise Unreadable("a JSON object", text, where="mutual_tls")
    return value
