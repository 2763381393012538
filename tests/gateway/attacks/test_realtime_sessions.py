"""Realtime sessions under attack: handshakes, messages, floods, faults of the pool, and a ledger without room."""

from __future__ import annotations

import json
import socket as sockets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import warm_processes
import yaml
from fault_givens import fill_disk, free_disk, full_disk
from gateway_yaml import API_KEY
from realtime_givens import (
    COMMIT,
    FINAL,
    IBAN,
    ROUTE,
    SETTINGS,
    append,
    begin,
    ended,
    pcm,
    refused,
    say,
    session,
    transcribe,
)
from realtime_pool import RealtimePool
from waiting import until
from websockets.exceptions import InvalidStatus

from sovctl.gateway.settings import load_settings
from sovctl.support.errors import SpecError

AUDIO = pcm(400)
SELECT = {"type": "session.update", "model": ROUTE}


@pytest.fixture(scope="module")
def pool(pki: Any) -> Iterator[RealtimePool]:
    with RealtimePool(pki.certificate_file, pki.key_file, client_ca_file=pki.ca_file) as upstream:
        yield upstream


@pytest.fixture
def other_pool(pki: Any) -> Iterator[RealtimePool]:
    with RealtimePool(pki.certificate_file, pki.key_file, client_ca_file=pki.ca_file) as upstream:
        yield upstream


@pytest.fixture(name="gateway", scope="module")
def gateway_fixture(start: Callable[..., Any]) -> Any:
    return start(**SETTINGS)


@pytest.fixture(name="limited", scope="module")
def limited_fixture(start: Callable[..., Any]) -> Any:
    realtime = {"max_sessions": 2, "max_tenant_sessions": 1, "max_session_s": 6, "idle_timeout_s": 2}
    return start(**SETTINGS, limits={"max_recording_s": 2, "realtime": realtime})


def reason_of_last(gateway: Any) -> str:
    return str([each for each in gateway.records() if each["type"] == "gateway.answer"][-1]["reason"])


# Handshakes.


def test_without_a_valid_key_there_is_no_session(gateway: Any, pool: RealtimePool) -> None:
    assert refused(gateway, None) == (401, "invalid_api_key")
    assert refused(gateway, "test-key-of-nobody") == (401, "invalid_api_key")
    assert not pool.utterances


def test_a_page_of_another_origin_opens_no_session(gateway: Any) -> None:
    assert refused(gateway, origin="https://evil.example") == (403, "origin_not_allowed")
    assert refused(gateway, origin="null") == (403, "origin_not_allowed")
    assert refused(gateway, None, headers={"sec-fetch-site": "cross-site"}) == (401, "invalid_api_key")
    with session(gateway, origin=f"https://127.0.0.1:{gateway.port}") as socket:
        assert transcribe(socket, AUDIO)[-1]["type"] == "transcription.done"


def test_a_long_token_is_read(gateway: Any) -> None:
    assert refused(gateway, "x" * 12_000) == (401, "invalid_api_key")


def _keys(gateway: Any, *words: str) -> dict[str, Any]:
    done = warm_processes.gateway("keys", *words, "--config", gateway.config, "--json")
    assert done.returncode == 0, done.stderr
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def test_a_key_without_the_api_opens_no_session(gateway: Any, pool: RealtimePool) -> None:
    key = _keys(gateway, "create", "writer", "--tenant", "retail", "--surface", "chat.completions")["key"]
    until(lambda: refused(gateway, key)[1] == "surface_not_allowed", "the key is known", every_s=0.5)
    assert not pool.utterances


def _until_status(gateway: Any, key: str, status: int) -> None:
    """Wait until a key has this status. Seldom asked, because the gateway counts failures of an address."""
    headers = {"authorization": f"Bearer {key}"}
    until(lambda: gateway.request("GET", "/v1/models", headers=headers)[0] == status, f"status {status}", every_s=0.5)


def test_a_revoked_key_begins_no_other_utterance(gateway: Any, pool: RealtimePool) -> None:
    key = _keys(gateway, "create", "speaker", "--tenant", "retail")["key"]
    _until_status(gateway, key, 200)
    with session(gateway, key) as socket:
        assert transcribe(socket, AUDIO)[-1]["type"] == "transcription.done"
        _keys(gateway, "revoke", "speaker")
        _until_status(gateway, key, 401)
        begin(socket)
        assert ended(socket) == ("invalid_api_key", 1008)
    assert len(pool.utterances) == 1


def test_a_tenant_opens_its_number_of_sessions(limited: Any) -> None:
    with session(limited):
        assert refused(limited) == (429, "too_many_sessions")
    until(lambda: _opens(limited), "the place is free again")


def _opens(gateway: Any) -> bool:
    try:
        with session(gateway):
            return True
    except InvalidStatus:
        return False


def test_without_a_realtime_pool_there_is_no_websocket(
    start: Callable[..., Any], start_from: Callable[..., Any], tmp_path: Path
) -> None:
    made = start(**SETTINGS)
    made.stop()
    settings = yaml.safe_load(made.config.read_text())
    settings["upstreams"][0]["surfaces"] = ["audio.transcriptions"]
    made.config.write_text(yaml.safe_dump(settings))
    gateway = start_from(made.config, tmp_path / "log")
    assert refused(gateway) == (404, "not_found")
    assert refused(gateway, None) == (401, "invalid_api_key")


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_path_serves_no_request(gateway: Any, method: str) -> None:
    status, _, body = gateway.request(method, "/v1/realtime", b"{}", {"authorization": f"Bearer {API_KEY}"})
    assert (status, json.loads(body)["error"]["code"]) == (404, "not_found")


def test_an_invalid_handshake_gets_an_error(gateway: Any) -> None:
    headers = {"authorization": f"Bearer {API_KEY}", "connection": "Upgrade", "upgrade": "websocket"}
    assert gateway.request("GET", "/v1/realtime", None, headers)[0] == 400
    assert gateway.request("GET", "/v1/models", None, headers)[0] == 200


def test_the_text_of_a_realtime_route_is_always_checked(gateway: Any, tmp_path: Path) -> None:
    settings = yaml.safe_load(gateway.config.read_text())
    del settings["routes"][0]["release"]
    (tmp_path / "gateway.yaml").write_text(yaml.safe_dump(settings))
    assert "expected `identifiers` because this route serves realtime" in _problem(tmp_path / "gateway.yaml")


def _problem(path: Path) -> str:
    with pytest.raises(SpecError) as caught:
        load_settings(path)
    (problem,) = caught.value.problems
    return str(problem)


def test_no_cloud_serves_it(gateway: Any, tmp_path: Path) -> None:
    settings = yaml.safe_load(gateway.config.read_text())
    settings["upstreams"][1]["surfaces"] = ["realtime"]
    (tmp_path / "gateway.yaml").write_text(yaml.safe_dump(settings))
    assert "clouds receive only tokenized text, got realtime" in _problem(tmp_path / "gateway.yaml")


# Messages.


@pytest.mark.parametrize(
    "message",
    [
        b"\x00\x01",
        "no json",
        "[]",
        "{}",
        '{"type": ["session.update"]}',
        '{"type": "response.create"}',
        '{"type": "session.update"}',
        '{"type": "session.update", "model": "scribe", "tools": []}',
        '{"type": "input_audio_buffer.commit", "final": "yes"}',
        '{"type": "input_audio_buffer.append", "audio": "AAA"}',
        '{"type": "input_audio_buffer.append", "audio": "AA=="}',
        '{"type": "input_audio_buffer.append", "audio": ""}',
        '{"type": "input_audio_buffer.append", "audio": "AAAA!!!!"}',
        '{"type": "input_audio_buffer.append", "audio": "AAAA", "event_id": "1"}',
    ],
)
@pytest.mark.parametrize("is_speaking", [False, True])
def test_another_message_ends_the_session(
    gateway: Any, pool: RealtimePool, message: str | bytes, is_speaking: bool
) -> None:
    with session(gateway) as socket:
        if is_speaking:
            begin(socket)
            say(socket, append(AUDIO))
        socket.send(message)
        assert ended(socket) == ("invalid_event", 1008)
    if is_speaking:
        until(lambda: reason_of_last(gateway) == "invalid_event", "the record")
        until(lambda: pool.utterances[-1].is_over, "the pool's connection is closed")
        assert FINAL not in pool.utterances[-1].events


def test_an_utterance_without_a_model_ends_the_session(gateway: Any) -> None:
    with session(gateway) as socket:
        say(socket, COMMIT)
        assert ended(socket) == ("invalid_event", 1008)


def test_a_frame_above_the_limit_ends_the_session(gateway: Any, pool: RealtimePool) -> None:
    with session(gateway) as socket:
        begin(socket)
        say(socket, append(AUDIO))
        until(lambda: pool.utterances and pool.utterances[0].audio, "the audio")
        say(socket, append(bytes(200_000)))
        assert ended(socket)[1] == 1009
    until(lambda: reason_of_last(gateway) == "client-left", "the record")
    assert len(pool.utterances[0].audio) == len(AUDIO)


def test_more_audio_than_a_recording_may_have_ends_the_session(limited: Any, pool: RealtimePool) -> None:
    with session(limited) as socket:
        begin(socket)
        say(socket, *[append(bytes(32_000))] * 3)
        assert ended(socket) == ("recording_too_long", 1008)
    until(lambda: reason_of_last(limited) == "recording_too_long", "the record")
    assert len(pool.utterances[0].audio) <= 64_000


def test_a_session_is_limited_over_all_its_utterances(limited: Any) -> None:
    until(lambda: _opens(limited), "the place is free")
    with session(limited) as socket:
        assert transcribe(socket, bytes(48_000))[-1]["type"] == "transcription.done"
        begin(socket)
        say(socket, append(bytes(32_000)))
        assert ended(socket) == ("recording_too_long", 1008)


def test_a_client_without_events_is_closed(limited: Any) -> None:
    until(lambda: _opens(limited), "the place is free")
    with session(limited) as socket:
        began = time.monotonic()
        assert ended(socket) == ("session_expired", 1008)
        assert 1 < time.monotonic() - began < 5.5


def test_a_session_has_an_end_also_in_an_utterance(limited: Any) -> None:
    until(lambda: _opens(limited), "the place is free")
    with session(limited) as socket:
        began = time.monotonic()
        begin(socket)
        while time.monotonic() < began + 5.5:  # never idle for as long as idle_timeout_s
            say(socket, append(bytes(320)))
            time.sleep(0.2)
        assert ended(socket) == ("session_expired", 1008)
    until(lambda: reason_of_last(limited) == "session_expired", "the record")


def test_a_flood_of_events_is_slowed_down(gateway: Any) -> None:
    began = time.monotonic()
    with session(gateway) as socket:
        say(socket, *[SELECT] * 1400)
        assert transcribe(socket, AUDIO)[-1]["type"] == "transcription.done"
    assert time.monotonic() - began > 1.5


# Clients and pools that fail.


def test_a_client_that_disappears_leaves_a_record_and_no_session(gateway: Any, pool: RealtimePool) -> None:
    with session(gateway) as socket:
        begin(socket)
        say(socket, append(AUDIO))
        until(lambda: pool.utterances and pool.utterances[0].audio, "the audio")
        socket.abort()
        until(lambda: reason_of_last(gateway) == "client-left", "the record")
        until(lambda: pool.utterances[0].is_over, "the pool's connection is closed")
    until(lambda: b"sovctl_gateway_realtime_sessions 0" in gateway.request("GET", "/metrics")[2], "no session")


def test_a_client_that_does_not_read_is_aborted(
    start: Callable[..., Any], other_pool: RealtimePool, start_from: Callable[..., Any], tmp_path: Path
) -> None:
    made = start(**SETTINGS, pool=other_pool)
    made.stop()
    settings = yaml.safe_load(made.config.read_text())
    settings["listen"]["write_timeout_s"] = 1
    made.config.write_text(yaml.safe_dump(settings))
    gateway = start_from(made.config, tmp_path / "log")
    other_pool.speech.at_the_end = lambda _: ["Silence. " + " " * 3900] * 2000  # 8 MB
    slow = sockets.socket()
    slow.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 4096)
    slow.connect(("127.0.0.1", gateway.port))
    slow.setblocking(False)
    with session(gateway, max_queue=1, sock=slow) as socket:
        begin(socket)
        say(socket, append(AUDIO), FINAL)
        until(lambda: "client stalled" in gateway.log(), "the client is aborted")
        until(lambda: reason_of_last(gateway) == "client-left", "the record")
    until(lambda: b"sovctl_gateway_realtime_sessions 0" in gateway.request("GET", "/metrics")[2], "no session")
    until(lambda: other_pool.utterances[0].is_over, "the pool's connection is closed")
    gateway.stop()


@pytest.mark.parametrize(
    "message",
    [
        "",
        b"binary",
        "no json",
        '{"type": "error", "error": "DE89370400440532013000"}',
        '{"type": "response.audio.delta", "delta": "x"}',
        '{"type": "transcription.delta", "delta": 1}',
        '{"type": "transcription.done", "text": "Text that no delta had."}',
        '{"type": "transcription.done"}',
        json.dumps({"type": "transcription.delta", "delta": "x" * (1 << 20)}),
    ],
    ids=["closes", "binary", "no-json", "error", "unknown", "no-text", "other-text", "no-field", "large"],
)
def test_an_invalid_end_of_the_pool_is_an_error_of_the_utterance(
    gateway: Any, pool: RealtimePool, message: str | bytes
) -> None:
    pool.speech.ends_with = [message]
    with session(gateway) as socket:
        events = transcribe(socket, AUDIO)
        assert events[-1]["code"] == "upstream_failed"
        assert "3704" not in json.dumps(events)
        assert "no delta had" not in json.dumps(events)
        until(lambda: reason_of_last(gateway) == "upstream_failed", "the record")
        pool.speech.ends_with = None
        assert transcribe(socket, AUDIO)[-1]["type"] == "transcription.done"


def test_a_pool_that_begins_otherwise_gets_no_audio(gateway: Any, pool: RealtimePool) -> None:
    pool.speech.created = {"type": "session.updated"}
    with session(gateway) as socket:
        assert transcribe(socket, AUDIO)[-1]["code"] == "pool_unavailable"
    assert not pool.utterances[0].audio
    assert not pool.utterances[0].events


def test_unchecked_text_of_a_pool_that_dies_is_not_sent(gateway: Any, pool: RealtimePool) -> None:
    pool.speech.at_the_end = lambda _: [f"Pay to {IBAN[:-4]}"]
    pool.speech.ends_with = [""]
    with session(gateway) as socket:
        events = transcribe(socket, AUDIO)
    assert [each["type"] for each in events] == ["error"]


# A ledger without room.


def test_without_a_durable_record_no_audio_is_sent(gateway: Any, pool: RealtimePool) -> None:
    with session(gateway) as socket:
        assert transcribe(socket, AUDIO)[-1]["type"] == "transcription.done"
        pool.forget()
        with full_disk(gateway):
            assert transcribe(socket, AUDIO)[-1]["code"] == "audit_unavailable"
        assert not pool.utterances
        assert transcribe(socket, AUDIO)[-1]["type"] == "transcription.done"


def test_an_end_that_cannot_be_recorded_is_not_sent(gateway: Any, pool: RealtimePool) -> None:
    def fill(_: int) -> list[str]:
        fill_disk(gateway)
        return ["The text is not complete"]

    try:
        pool.speech.at_the_end = fill
        with session(gateway) as socket:
            events = transcribe(socket, AUDIO)
        assert events[-1]["code"] == "audit_unavailable"
        assert "transcription.done" not in json.dumps(events)
    finally:
        free_disk(gateway)
