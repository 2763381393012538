"""API keys, error bodies, metrics and the log."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from sovctl.compliance.errors import InputError
from sovctl.gateway import log
from sovctl.gateway.auth import Client, Clients, load_clients
from sovctl.gateway.errors import Code, Refused, error_body
from sovctl.gateway.keyfiles import read_key
from sovctl.gateway.metrics import Metrics


def digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def entry(name: str = "branch", key: str = "k", **more: Any) -> dict[str, Any]:
    return {"name": name, "tenant": "retail", "key_sha256": digest(key), "routes": [], **more}


def test_a_key_opens_for_its_client_alone() -> None:
    clients = Clients([Client(**entry("one", "first", routes=["a"])), Client(**entry("two", "second"))])
    one, two = clients.authenticate("Bearer first"), clients.authenticate("bearer  second ")
    assert one is not None
    assert two is not None
    assert (one.name, two.name) == ("one", "two")
    assert (one.may_use("a"), one.may_use("b"), two.may_use("b")) == (True, False, True)
    for wrong in (None, "", "Bearer", "Bearer ", "Bearer third", "first", "Basic first", f"Bearer {digest('first')}"):
        assert clients.authenticate(wrong) is None


def test_neither_keys_nor_digests_are_printed() -> None:
    clients = Clients([Client(**entry())])
    assert digest("k") not in repr(clients)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "expected a JSON list of clients"),
        ("{}", "expected clients with name"),
        ("[]", "at least one client"),
        (json.dumps([entry(), entry(key="other")]), "every name once"),
        (json.dumps([entry("a"), entry("b")]), "every key once"),
        (json.dumps([entry(key_sha256="in-clear")]), "key_sha256"),
        (json.dumps([entry(secret="x")]), "secret"),
    ],
)
def test_a_wrong_clients_file_is_refused_without_its_content(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "clients.json"
    path.write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        load_clients(path)
    assert "in-clear" not in str(caught.value)
    assert digest("k") not in str(caught.value)


@pytest.mark.parametrize("content", ["", "00" * 31, "00" * 33, "zz" * 32])
def test_a_key_that_is_none_is_refused_without_its_content(tmp_path: Path, content: str) -> None:
    path = tmp_path / "key"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(InputError) as caught:
        read_key(path)
    assert not content or content not in str(caught.value)


def test_every_reason_code_has_an_answer_in_openai_s_shape() -> None:
    for code in Code:
        error = json.loads(error_body(code, request_id="r"))["error"]
        assert error["code"] == code.value
        assert error["sovctl"] == {"reason": code.value, "request_id": "r"}
        assert {"message", "type", "param"} <= error.keys()
        assert 400 <= Refused(code).status <= 503


def test_every_reason_code_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs/gateway.md").read_text()
    for code in Code:
        assert re.search(rf"\| `{code.value}` \| {Refused(code).status} \|", page), code


def test_metrics_are_prometheus_text() -> None:
    metrics = Metrics()
    metrics.count("refused_total", reason='odd "one"\n')
    metrics.count("refused_total", 2, reason="b")
    metrics.observe("added_seconds", 0.003)
    metrics.observe("added_seconds", 99)
    metrics.move("in_flight_requests", 1)
    lines = metrics.text().splitlines()
    assert 'sovctl_gateway_refused_total{reason="b"} 2' in lines
    assert 'sovctl_gateway_refused_total{reason="odd \\"one\\"\\n"} 1' in lines
    assert 'sovctl_gateway_added_seconds_bucket{le="0.002"} 0' in lines
    assert 'sovctl_gateway_added_seconds_bucket{le="0.005"} 1' in lines
    assert 'sovctl_gateway_added_seconds_bucket{le="+Inf"} 2' in lines
    assert "sovctl_gateway_added_seconds_count 2" in lines
    assert "sovctl_gateway_in_flight_requests 1" in lines
    sample = re.compile(r'^[a-z_]+(?:\{[a-z]+="(?:[^"\\]|\\.)*"(?:,[a-z]+="(?:[^"\\]|\\.)*")*\})? [0-9.e+-]+$')
    assert all(line.startswith("# ") or sample.match(line) for line in lines)


def test_an_error_is_logged_without_its_message() -> None:
    try:
        raise ValueError("anna@example.com")
    except ValueError as error:
        said = log.describe(error)
    assert said.startswith("ValueError at test_auth_and_metrics.py:")
    assert "anna" not in said
