"""`answer_hmac` of an audit record is the keyed digest of exactly the bytes that the client received."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import http.client
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from surface_givens import API_KEY, MAIL
from surface_upstream import SurfaceUpstream
from waiting import until

from sovctl.gateway.tokens.keys import TokenKeys
from sovctl.support.secret_files import read_key

PHRASES = "insider trading\n"
SAFE = f"Please write to {MAIL} about the transfer. "
FORBIDDEN = "Now we turn to insider trading."
BODIES: dict[str, Callable[[str], dict[str, Any]]] = {
    "/v1/chat/completions": lambda text: {"messages": [{"role": "user", "content": text}]},
    "/v1/responses": lambda text: {"input": text},
    "/v1/messages": lambda text: {"max_tokens": 99, "messages": [{"role": "user", "content": text}]},
}


@dataclass(frozen=True)
class Received:
    """A response as a client reads it."""

    status: int
    data: bytes
    record: dict[str, Any]
    """`gateway.answer`."""


def key_of(gateway: Any) -> bytes:
    return TokenKeys.derive(read_key(Path(yaml.safe_load(gateway.config.read_text())["token_key_file"]))).audit


@contextlib.contextmanager
def asked(
    gateway: Any, path: str, body: dict[str, Any], *, timeout_s: float = 60
) -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPSConnection("127.0.0.1", gateway.port, context=gateway.tls, timeout=timeout_s)
    headers = {"authorization": f"Bearer {API_KEY}", "content-type": "application/json"}
    with contextlib.closing(connection):
        connection.request("POST", path, json.dumps({"model": "assistant", **body}), headers)
        yield connection.getresponse()


def answer_record(gateway: Any, request_id: str | None) -> dict[str, Any]:
    """The record of the end of an answer, which may be written after the answer."""

    def ends() -> list[dict[str, Any]]:
        return [each for each in gateway.records() if each["type"] == "gateway.answer" and each["id"] == request_id]

    return until(ends, "no record of the answer")[0]


def receive(gateway: Any, path: str, text: str, *, stream: bool, model: str = "assistant") -> Received:
    with asked(gateway, path, {**BODIES[path](text), "stream": stream, "model": model}) as response:
        data = response.read()
        return Received(response.status, data, answer_record(gateway, response.getheader("x-sovctl-request-id")))


def assert_covers(gateway: Any, received: Received) -> None:
    digest = hmac.digest(key_of(gateway), received.data, hashlib.sha256).hex()
    assert received.record["answer_hmac"] == digest, received.record["reason"]


@pytest.fixture(name="checked", scope="module")
def checked_fixture(start: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A gateway that hands off forbidden answers on one route, and refuses them on another."""
    phrases = tmp_path_factory.mktemp("lists") / "topics"
    phrases.write_text(PHRASES)
    digest = hashlib.sha256(PHRASES.encode()).hexdigest()
    ways = {"pool": "chat", "cloud": "sovereign-cloud", "prefer": "cloud"}

    def release(on_failure: str) -> dict[str, Any]:
        forbidden = {"name": "topics", "file": str(phrases), "sha256": digest, "on_failure": on_failure}
        return {"forbidden": [forbidden]}

    routes = [
        {"model": "assistant", **ways, "release": release("hand-off")},
        {"model": "refused", **ways, "release": release("refuse")},
    ]
    return start(routes=routes, handoff={"texts": {"en": "A person looks at this answer."}})


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("path", BODIES)
def test_digest_covers_all_bytes_of_an_answer(gateway: Any, cloud: SurfaceUpstream, path: str, stream: bool) -> None:
    for cloud.script.piece_bytes in (7, 100_000) if stream else (7,):
        received = receive(gateway, path, SAFE, stream=stream)
        assert (received.status, received.record["reason"]) == (200, "answered")
        assert stream or MAIL.encode() in received.data
        assert_covers(gateway, received)


@pytest.mark.parametrize("path", BODIES)
def test_digest_covers_the_error_that_ends_a_broken_stream(gateway: Any, cloud: SurfaceUpstream, path: str) -> None:
    cloud.script.break_after_bytes = 900 if path != "/v1/responses" else 4000
    received = receive(gateway, path, SAFE * 8, stream=True)
    assert (received.status, received.record["reason"]) == (200, "upstream_failed")
    assert b"upstream_failed" in received.data
    assert_covers(gateway, received)


@pytest.mark.parametrize("text", [FORBIDDEN, SAFE + FORBIDDEN], ids=["at once", "midway"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("path", BODIES)
def test_digest_covers_what_replaces_a_withheld_answer(
    checked: Any, cloud: SurfaceUpstream, path: str, stream: bool, text: str
) -> None:
    received = receive(checked, path, text, stream=stream)
    assert (received.status, received.record["reason"]) == (200, "handed_over")
    assert b"insider" not in received.data
    assert_covers(checked, received)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("path", BODIES)
def test_digest_covers_the_error_in_place_of_an_answer(
    gateway: Any, pool: SurfaceUpstream, cloud: SurfaceUpstream, path: str, stream: bool
) -> None:
    pool.script.status = cloud.script.status = 503
    received = receive(gateway, path, SAFE, stream=stream)
    assert (received.status, received.record["reason"]) == (502, "upstream_failed")
    assert_covers(gateway, received)


@pytest.mark.parametrize("text", [FORBIDDEN, SAFE + FORBIDDEN], ids=["at once", "midway"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("path", BODIES)
def test_digest_covers_the_error_in_place_of_a_refused_answer(
    checked: Any, cloud: SurfaceUpstream, path: str, stream: bool, text: str
) -> None:
    received = receive(checked, path, text, stream=stream, model="refused")
    assert received.record["reason"] == "answer_withheld"
    assert b"insider" not in received.data
    assert_covers(checked, received)


@pytest.mark.parametrize("path", BODIES)
def test_digest_covers_what_a_client_read_before_it_left(
    gateway: Any, pool: SurfaceUpstream, cloud: SurfaceUpstream, path: str
) -> None:
    held = threading.Event()
    for upstream in (pool, cloud):  # the cloud may be skipped, because it failed in an earlier test
        upstream.script.piece_bytes, upstream.script.hold = 100, held
    data = b""
    with asked(gateway, path, {**BODIES[path](SAFE), "stream": True}, timeout_s=2) as response:
        request_id = response.getheader("x-sovctl-request-id")
        with contextlib.suppress(TimeoutError):  # the upstream holds its last event
            while piece := response.read1():
                data += piece
    record = answer_record(gateway, request_id)
    held.set()
    assert record["reason"] == "client-left", data[-300:]
    assert_covers(gateway, Received(200, data, record))
