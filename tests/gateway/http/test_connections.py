"""HTTP as clients and proxies really speak it: methods, versions, offers and bodies that are none of ours."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from echo_upstream import EchoUpstream
from loopback_gateway import KEY, LoopbackGateway, running_gateway, say, write_loopback_config

CHAT = "/v1/chat/completions"
BEARER = {"authorization": f"Bearer {KEY}"}
WORDS = "Please call Anna on +49 30 901820."


@pytest.fixture(scope="module")
def upstream() -> Iterator[EchoUpstream]:
    with EchoUpstream() as found:
        yield found


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, upstream: EchoUpstream) -> Iterator[LoopbackGateway]:
    config = write_loopback_config(tmp_path_factory.mktemp("http"), cloud_port=upstream.port)
    with running_gateway(config) as found:
        yield found


@pytest.fixture
def connection(gateway: LoopbackGateway) -> Iterator[http.client.HTTPConnection]:
    client = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=60)
    yield client
    client.close()


def to_the_end(gateway: LoopbackGateway, *pieces: bytes) -> tuple[bytes, bytes]:
    """Head and body of everything until the gateway closes."""
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as client:
        for piece in pieces:
            client.sendall(piece)
        said = b""
        while more := client.recv(65536):
            said += more
    head, _, body = said.partition(b"\r\n\r\n")
    return head, body


def reason(body: bytes) -> Any:
    return json.loads(body)["error"]["sovctl"]["reason"]


@pytest.mark.parametrize("path", ["/healthz", "/v1/models", "/v1/models/assistant", "/metrics"])
def test_head_is_get_without_a_body(connection: http.client.HTTPConnection, path: str) -> None:
    connection.request("HEAD", path, headers=BEARER)
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (200, b"")
    connection.request("GET", path, headers=BEARER)
    assert connection.getresponse().getheader("content-type") == answer.getheader("content-type")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", CHAT, "POST, OPTIONS"),
        ("PUT", CHAT, "POST, OPTIONS"),
        ("HEAD", "/v1/messages", "POST, OPTIONS"),
        ("POST", "/v1/models", "GET, HEAD, OPTIONS"),
        ("DELETE", "/v1/models/assistant", "GET, HEAD, OPTIONS"),
    ],
)
def test_a_method_that_a_path_has_not_is_told_which_it_has(
    connection: http.client.HTTPConnection, method: str, path: str, allowed: str
) -> None:
    connection.request(method, path, headers=BEARER)
    answer = connection.getresponse()
    assert (answer.status, answer.getheader("allow")) == (405, allowed)
    body = answer.read()
    assert method == "HEAD" or reason(body) == "method_not_allowed"


def test_a_browser_of_another_origin_gets_no_permission_and_needs_no_key_to_hear_so(
    connection: http.client.HTTPConnection,
) -> None:
    asked = {"origin": "https://app.example", "access-control-request-method": "POST"}
    connection.request("OPTIONS", CHAT, headers=asked)
    answer = connection.getresponse()
    assert (answer.status, answer.read(), answer.getheader("allow")) == (200, b"", "POST, OPTIONS")
    assert not [name for name, _ in answer.getheaders() if name.lower().startswith("access-control")]


def test_a_path_that_is_not_there_says_how_a_base_url_ends(connection: http.client.HTTPConnection) -> None:
    for path in ("/chat/completions", "/v1/v1/messages", "/v1/chat/completions/"):
        connection.request("POST", path, b"{}", BEARER)
        answer = connection.getresponse()
        body = answer.read()
        assert (answer.status, reason(body)) == (404, "not_found")
        assert b"/v1" in body


@pytest.mark.parametrize("name", ["authorization", "x-api-key", "x-sovctl-conversation"])
def test_conflicting_duplicate_headers_are_rejected(
    gateway: LoopbackGateway, upstream: EchoUpstream, name: str
) -> None:
    said = {"authorization": (f"Bearer {KEY}", "Bearer other"), "x-api-key": (KEY, "other")}.get(name, ("a", "b"))
    credential = f"authorization: Bearer {KEY}\r\n" if name.startswith("x-sovctl") else ""
    body, before = json.dumps(say(WORDS)).encode(), len(upstream.requests)

    def asked(first: str, second: str) -> tuple[bytes, bytes]:
        lines = f"{credential}{name}: {first}\r\n{name}: {second}\r\nconnection: close\r\n"
        head = f"POST {CHAT} HTTP/1.1\r\nhost: x\r\n{lines}content-length: {len(body)}\r\n\r\n"
        return to_the_end(gateway, head.encode() + body)

    for two in (said, said[::-1]):
        head, answer = asked(*two)
        assert head.startswith(b"HTTP/1.1 400 ")
        assert json.loads(answer)["error"]["param"] == name
    assert len(upstream.requests) == before
    head, _ = asked(said[0], said[0])
    assert head.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_a_compressed_body_is_refused_by_its_name(gateway: LoopbackGateway, coding: str) -> None:
    packed = gzip.compress(json.dumps(say(WORDS)).encode())
    status, headers, body = gateway.post(packed, headers={"content-encoding": coding})
    assert (status, reason(body), headers["accept-encoding"]) == (415, "unsupported_encoding", "identity")
    assert gateway.post(say(WORDS), headers={"content-encoding": "identity"})[0] == 200


def test_a_query_and_an_escaped_path_make_no_difference(gateway: LoopbackGateway) -> None:
    assert gateway.post(say(WORDS), path=CHAT + "?api-version=2026-01")[0] == 200
    assert gateway.post(say(WORDS), path="/v1/chat/%63ompletions")[0] == 200


@pytest.mark.parametrize("sentences", [1, 5000])
@pytest.mark.parametrize("pieces", [1, 3])
def test_a_body_is_the_same_whole_in_pieces_and_after_leave_to_send_it(
    gateway: LoopbackGateway, upstream: EchoUpstream, pieces: int, sentences: int
) -> None:
    body = json.dumps(say("The branch is open today. " * sentences)).encode()
    length = f"content-length: {len(body)}\r\n"
    for framing in (length, length + "expect: 100-continue\r\n", "transfer-encoding: chunked\r\n"):
        step = len(body) // pieces + 1
        sent = [body[start : start + step] for start in range(0, len(body), step)]
        if "chunked" in framing:
            sent = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in sent] + [b"0\r\n\r\n"]
        lines = f"host: x\r\nauthorization: Bearer {KEY}\r\nconnection: close\r\n{framing}"
        begun = f"POST {CHAT} HTTP/1.1\r\n{lines}\r\n".encode()
        head, _ = to_the_end(gateway, begun + sent[0], *sent[1:])
        assert b" 200 OK\r\n" in head or b"100 Continue" in head
        assert upstream.requests[-1]["messages"] == json.loads(body)["messages"]


def head(body: bytes, *more: str, version: str = "1.1") -> bytes:
    lines = [f"POST {CHAT} HTTP/{version}", "Host: x", f"Authorization: Bearer {KEY}", *more]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode()


JAVA = (
    "Connection: Upgrade, HTTP2-Settings",
    "Upgrade: h2c",
    "HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA",
)


@pytest.mark.parametrize("in_one", [True, False])
def test_an_offer_of_http2_loses_nothing_of_the_request(
    gateway: LoopbackGateway, upstream: EchoUpstream, in_one: bool
) -> None:
    """As Java's client makes it with its first request; what follows on the connection is read as it should be."""
    body = json.dumps(say(WORDS)).encode()
    first, second = head(body, *JAVA), head(body, "Connection: close")
    pieces = [first + body, second + body] if in_one else [first[:99], first[99:], body[:7], body[7:], second + body]
    before = len(upstream.requests)
    _, answers = to_the_end(gateway, *pieces)
    assert answers.count(b"+49 30 901820") == 2
    assert len(upstream.requests) == before + 2


def test_an_offer_of_another_protocol_is_no_way_in_for_a_second_request(
    gateway: LoopbackGateway, upstream: EchoUpstream
) -> None:
    """A proxy that knows one request here must not be given the answer of another."""
    hidden = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    told, said = to_the_end(gateway, head(hidden, "Connection: close, Upgrade", "Upgrade: websocket"), hidden)
    assert told.startswith(b"HTTP/1.1 400")
    assert reason(said) == "invalid_json"


def test_a_client_of_http_1_0_gets_a_stream_that_it_can_read(gateway: LoopbackGateway) -> None:
    """nginx speaks it to what is behind it unless told otherwise."""
    body = json.dumps(say(WORDS, stream=True)).encode()
    told, said = to_the_end(gateway, head(body, version="1.0") + body)
    assert b"transfer-encoding" not in told.lower()
    assert b"connection: close" in told
    assert said.startswith(b"data: {")
    assert said.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize(
    "sent",
    [
        b"hello there\r\n\r\n",
        b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03" + bytes(200),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ids=["words", "tls", "http2", "connect", "two-lengths"],
)
def test_invalid_http_gets_400_and_is_logged(gateway: LoopbackGateway, sent: bytes) -> None:
    told, said = to_the_end(gateway, sent)
    assert told.startswith(b"HTTP/1.1 400 Bad Request")
    assert reason(said) == "invalid_http"
    last = json.loads(gateway.log().splitlines()[-1])
    assert (last["event"], last["reason"]) == ("refused", "invalid_http")
    assert last["request_id"] == json.loads(said)["error"]["sovctl"]["request_id"]


def test_a_stream_asks_proxies_to_pass_on_each_event(gateway: LoopbackGateway) -> None:
    _, streamed, _ = gateway.post(say(WORDS, stream=True))
    assert streamed["content-type"] == "text/event-stream; charset=utf-8"
    assert (streamed["x-accel-buffering"], streamed["cache-control"]) == ("no", "no-store")
    assert "x-accel-buffering" not in gateway.post(say(WORDS))[1]
