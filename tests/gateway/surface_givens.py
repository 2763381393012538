"""What the tests of all surfaces share: specimens, plain requests, and the one promise about clouds."""

from __future__ import annotations

import json
from typing import Any

from echo_upstream import EchoUpstream

API_KEY = "test-key-of-the-branch-application"
IBAN, MAIL, CARD = "DE89370400440532013000", "anna@example.com", "4111 1111 1111 1111"
PROMPT = f"Please confirm the transfer to {IBAN} and write to {MAIL}, card {CARD}."
SPECIMENS = (IBAN, MAIL, CARD)


def post(gateway: Any, path: str, body: Any, **headers: str) -> tuple[int, dict[str, str], Any]:
    """Status, headers and parsed answer of a plain request with the branch application's key."""
    sent = {"authorization": f"Bearer {API_KEY}", "content-type": "application/json", **headers}
    status, got, answer = gateway.request("POST", path, json.dumps(body).encode(), sent)
    return status, got, json.loads(answer)


def assert_clean(upstream: EchoUpstream, *values: str) -> None:
    """It was asked, and none of the values (else: of the specimens) reached it, however written."""
    assert upstream.raw
    everything = b"\n".join(upstream.raw)
    for value in values or SPECIMENS:
        assert value.encode() not in everything
        assert value.replace(" ", "").encode() not in everything


def audited(gateway: Any) -> dict[str, Any]:
    """The last record of a request."""
    return [record for record in gateway.records() if record["type"] == "gateway.request"][-1]
