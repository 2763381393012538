"""The host outside the perimeter, spoken to over TLS on loopback."""

from __future__ import annotations

import datetime
import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.engine.lab.services import capture, certificate, cloud

KEY = "sk-lab-invented-for-this-test"
TEXT = "Zahlung an DE89370400440532013000, bitte an a.b@example.org"


@dataclass(frozen=True)
class Cloud:
    port: int
    folder: Path
    catch_all_port: int

    def ask(
        self, method: str, path: str, body: bytes | Iterator[bytes] = b"", *, key: str | None = KEY, **headers: str
    ):
        trust = ssl.create_default_context(cafile=str(self.folder / certificate.CA_FILE))
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=trust, timeout=10)
        try:
            sent = headers | ({"Authorization": f"Bearer {key}"} if key else {})
            connection.request(method, path, body=body, headers=sent)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def chat(self, **body: Any):
        return self.ask("POST", "/v1/chat/completions", json.dumps({"model": "echo", **body}).encode())

    def kept(self) -> list[dict[str, Any]]:
        return list(capture.read(self.folder / cloud.CAPTURE_FILE))

    def wait_for_kept(self, count: int) -> list[dict[str, Any]]:
        deadline = time.monotonic() + 10
        while len(found := self.kept()) < count:
            assert time.monotonic() < deadline
        return found


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Cloud]:
    certificate.make(tmp_path, address="127.0.0.1", now=datetime.datetime.now(datetime.UTC))
    (tmp_path / cloud.KEYS_FILE).write_text(f"{KEY}\n")
    server = cloud.CloudServer(("127.0.0.1", 0), tmp_path)
    catch_all = cloud.CatchAll(("127.0.0.1", 0), server.capture)
    threads = [threading.Thread(target=each.serve_forever, args=(0.02,)) for each in (server, catch_all)]
    for thread in threads:
        thread.start()
    yield Cloud(server.server_port, tmp_path, catch_all.server_address[1])
    for each in (server, catch_all):
        each.shutdown()
        each.server_close()
    for thread in threads:
        thread.join()


@given(st.text(max_size=200))
def test_pieces_are_small_and_lose_nothing(text: str) -> None:
    found = list(cloud.text_chunks(text))
    assert "".join(found) == text
    assert all(3 <= len(piece) <= 7 for piece in found[:-1])
    assert all(1 <= len(piece) <= 7 for piece in found)


def test_a_token_is_cut_by_the_stream() -> None:
    assert all("[PERSON_1a2b3c4d]" not in piece for piece in cloud.text_chunks("to [PERSON_1a2b3c4d] now"))


def test_answers_with_the_last_user_message(outside: Cloud) -> None:
    messages = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "no"},
        {"role": "user", "content": TEXT},
        {"role": "assistant", "content": "not this"},
    ]
    status, headers, body = outside.chat(messages=messages)
    answer = json.loads(body)
    assert status == 200
    assert headers["x-simulated"] == "sovctl-lab"
    assert answer["choices"][0]["message"] == {"role": "assistant", "content": TEXT}
    assert answer["usage"]["total_tokens"] == answer["usage"]["prompt_tokens"] + answer["usage"]["completion_tokens"]


def test_a_stream_says_the_same_with_usage_and_an_end(outside: Cloud) -> None:
    parts = [
        {"type": "text", "text": TEXT[:9]},
        {"type": "image_url", "image_url": {}},
        {"type": "text", "text": TEXT[9:]},
    ]
    status, headers, body = outside.chat(
        messages=[{"role": "user", "content": parts}], stream=True, stream_options={"include_usage": True}
    )
    events = [line.removeprefix("data: ") for line in body.decode().split("\n\n") if line]
    chunks = [json.loads(event) for event in events[:-1]]
    assert (status, headers["Content-Type"]) == (200, "text/event-stream")
    assert events[-1] == "[DONE]"
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks[:-1]) == TEXT
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
    assert (chunks[-1]["choices"], chunks[-1]["usage"]["completion_tokens"]) == ([], len(TEXT.split()))


def test_usage_is_streamed_only_when_it_was_asked_for(outside: Cloud) -> None:
    _, _, body = outside.chat(messages=[{"role": "user", "content": "x"}], stream=True)
    assert b"usage" not in body


@pytest.mark.parametrize("key", [None, "sk-lab-another", ""])
def test_refuses_without_a_known_key_and_keeps_the_request_all_the_same(outside: Cloud, key: str | None) -> None:
    status, _, body = outside.ask("POST", "/v1/chat/completions", TEXT.encode(), key=key)
    assert status == 401
    assert json.loads(body)["error"]["code"] == "invalid_api_key"
    assert outside.kept()[0]["body"] == TEXT


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"{", 400), (b"[]", 400), (b'{"model": "echo"}', 400), (b'{"model": "other", "messages": []}', 404)],
)
def test_refuses_what_is_not_a_chat_for_its_model(outside: Cloud, body: bytes, status: int) -> None:
    assert outside.ask("POST", "/v1/chat/completions", body)[0] == status


def test_keeps_method_path_headers_and_body_before_it_answers(outside: Cloud) -> None:
    outside.ask("PUT", "/anything?x=1", b"\xff\x00", **{"X-Leak": "header text"})
    found = outside.kept()
    assert [(each["kind"], each["method"], each["path"]) for each in found] == [("http", "PUT", "/anything?x=1")]
    assert ["X-Leak", "header text"] in found[0]["headers"]
    assert found[0]["body_base64"] == "/wA="


def test_a_body_in_chunks_is_kept_whole(outside: Cloud) -> None:
    outside.ask("POST", "/v1/chat/completions", iter([TEXT[:5].encode(), TEXT[5:].encode()]))
    assert outside.kept()[0]["body"] == TEXT


def test_the_capture_never_shows_the_key(outside: Cloud) -> None:
    outside.chat(messages=[])
    assert KEY not in (outside.folder / cloud.CAPTURE_FILE).read_text()
    assert ["Authorization", f"Bearer {capture.KEY_SHOWN_AS}"] in outside.kept()[0]["headers"]


def test_a_key_that_is_allowed_later_is_accepted_at_once(outside: Cloud) -> None:
    (outside.folder / cloud.KEYS_FILE).write_text(f"{KEY}\nsk-lab-second\n")
    assert outside.ask("GET", "/v1/models", key="sk-lab-second")[0] == 200


def test_bytes_without_tls_are_kept_and_not_answered(outside: Cloud) -> None:
    with socket.create_connection(("127.0.0.1", outside.port), timeout=10) as connection:
        connection.sendall(f"GET /{TEXT} HTTP/1.1\r\n\r\n".encode())
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""
    assert TEXT in outside.wait_for_kept(1)[0]["body"]


def test_the_catch_all_port_keeps_raw_bytes(outside: Cloud) -> None:
    with socket.create_connection(("127.0.0.1", outside.catch_all_port), timeout=10) as connection:
        connection.sendall(TEXT.encode())
    found = outside.wait_for_kept(1)[0]
    assert (found["kind"], found["port"], found["body"]) == ("raw", outside.catch_all_port, TEXT)


def test_the_capture_can_be_emptied_while_the_cloud_runs(outside: Cloud) -> None:
    outside.chat(messages=[])
    capture.clear(outside.folder / cloud.CAPTURE_FILE)
    assert outside.kept() == []
    outside.ask("GET", "/v1/models")
    assert [each["path"] for each in outside.kept()] == ["/v1/models"]


def test_a_line_that_is_still_being_written_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "capture.jsonl"
    file.write_text('{"kind": "raw"}\n{"kind": "ht')
    assert list(capture.read(file)) == [{"kind": "raw"}]


def test_private_files_are_closed_to_others(outside: Cloud) -> None:
    outside.chat(messages=[])
    for name in (certificate.KEY_FILE, cloud.CAPTURE_FILE):
        assert (outside.folder / name).stat().st_mode & 0o077 == 0
