"""Realtime transcription: one utterance is one request, with its records, and its text is checked before it is sent.

The pool is a stand-in that has vLLM's protocol and no model; see `realtime_pool`.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from gateway_yaml import API_KEY, OTHER_KEY
from realtime_givens import (
    COMMIT,
    FINAL,
    IBAN,
    MASK,
    ROUTE,
    SETTINGS,
    append,
    begin,
    ended,
    got,
    heard,
    pcm,
    refused,
    say,
    session,
    transcribe,
)
from realtime_pool import RealtimePool
from waiting import until

AUDIO = pcm(1000)


@pytest.fixture(scope="module")
def pool(pki: Any) -> Iterator[RealtimePool]:
    with RealtimePool(pki.certificate_file, pki.key_file, client_ca_file=pki.ca_file) as upstream:
        yield upstream


@pytest.fixture(name="gateway", scope="module")
def gateway_fixture(start: Callable[..., Any]) -> Any:
    return start(**SETTINGS)


def last_pair(gateway: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    asked, answered = gateway.records()[-2:]
    assert (asked["type"], answered["type"]) == ("gateway.request", "gateway.answer")
    assert asked["id"] == answered["id"]
    return asked, answered


def metric(gateway: Any, name: str) -> float:
    lines = gateway.request("GET", "/metrics")[2].decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"sovctl_gateway_{name}"))


def test_an_utterance_is_sent_with_mutual_tls_and_its_text_comes_back(gateway: Any, pool: RealtimePool) -> None:
    with session(gateway) as socket:
        *deltas, done = transcribe(socket, AUDIO)
    assert "".join(each["delta"] for each in deltas) == done["text"] == f"Heard {len(AUDIO)} bytes."
    assert done["usage"] == {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    (utterance,) = pool.utterances
    assert utterance.audio == AUDIO
    assert utterance.events[:2] == [{"type": "session.update", "model": "echo"}, COMMIT]
    assert utterance.events[-1] == FINAL
    assert utterance.headers["authorization"] == "Bearer pool-key"
    assert API_KEY not in json.dumps(utterance.headers)


def test_each_utterance_has_a_pair_of_records_without_its_text(gateway: Any, pool: RealtimePool) -> None:
    before = len(gateway.records())
    with session(gateway) as socket:
        for _ in range(2):
            assert transcribe(socket, AUDIO)[-1]["type"] == "transcription.done"
    records = gateway.records()[before:]
    assert [each["type"] for each in records] == ["gateway.request", "gateway.answer"] * 2
    asked, answered = records[:2]
    assert (asked["surface"], asked["upstream"], asked["verdict"]) == ("realtime", "chat", "stay")
    assert asked["obstacles"] == ["audio"]
    assert asked["conversation"] == records[2]["conversation"]
    assert (answered["reason"], answered["attempts"]) == ("answered", ["chat/0:101"])
    recording = answered["recording"]
    assert (recording["duration_ms"], recording["size_bytes"]) == (1000, len(AUDIO))
    assert recording == records[3]["recording"]
    assert "Heard" not in json.dumps(records)
    assert len(pool.utterances) == 2


def test_checked_sentences_come_while_the_client_speaks(gateway: Any, pool: RealtimePool) -> None:
    pool.speech.while_speaking = ["The first sentence is over. ", "The second "]
    pool.speech.at_the_end = lambda _: ["follows."]
    with session(gateway) as socket:
        begin(socket)
        say(socket, append(AUDIO))
        while not (first := got(socket))["delta"]:
            pass
        assert first["delta"].strip() == "The first sentence is over."
        say(socket, FINAL)
        assert heard(socket)[-1]["text"] == "The first sentence is over. The second follows."


def test_an_identifier_that_deltas_cut_is_masked_in_all_events(gateway: Any, pool: RealtimePool) -> None:
    pool.speech.at_the_end = lambda _: ["Pay to DE89 3704 0044", " 0532 0130 00 today. ", "Thank you."]
    with session(gateway) as socket:
        *deltas, done = transcribe(socket, AUDIO)
    assert done["text"] == "".join(each["delta"] for each in deltas) == "Pay to [IBAN] today. Thank you."
    assert last_pair(gateway)[1]["release"]["verdicts"] == {"identifiers": "WARN"}


def test_a_withheld_utterance_ends_in_an_error_and_the_session_goes_on(
    start: Callable[..., Any], pool: RealtimePool
) -> None:
    refuse = {"identifiers": {"default": "refuse"}}
    gateway = start(**{**SETTINGS, "routes": [{"model": ROUTE, "pool": "chat", "release": refuse}]})
    pool.speech.at_the_end = lambda _: ["Good morning. ", f"Pay to {IBAN} today. ", "Good bye."]
    with session(gateway) as socket:
        events = transcribe(socket, AUDIO)
        assert events[-1]["code"] == "answer_withheld"
        assert "3704" not in json.dumps(events)
        assert "Good bye" not in json.dumps(events)
        until(lambda: last_pair(gateway)[1]["reason"] == "answer_withheld", "its record")
        pool.speech.at_the_end = lambda _: ["Good evening."]
        assert transcribe(socket, AUDIO)[-1]["text"] == "Good evening."


def test_silence_is_an_answer_without_text(gateway: Any, pool: RealtimePool) -> None:
    pool.speech.at_the_end = lambda _: []
    with session(gateway) as socket:
        (done,) = transcribe(socket, bytes(32_000))
    assert done["text"] == ""
    assert last_pair(gateway)[1]["recording"]["duration_ms"] == 1000


def test_events_of_the_next_utterance_wait_for_the_end_of_the_first(gateway: Any, pool: RealtimePool) -> None:
    with session(gateway) as socket:
        say(socket, {"type": "session.update", "model": ROUTE})
        for size in (320, 640):
            say(socket, COMMIT, append(bytes(size)), FINAL)
        assert [heard(socket)[-1]["text"] for _ in range(2)] == ["Heard 320 bytes.", "Heard 640 bytes."]
    until(lambda: [each.is_over for each in pool.utterances] == [True, True], "both connections are closed")


def test_audio_outside_an_utterance_is_reported_once_and_not_sent(gateway: Any, pool: RealtimePool) -> None:
    with session(gateway) as socket:
        say(socket, append(AUDIO), append(AUDIO), FINAL)
        assert got(socket)["code"] == "invalid_event"
        assert transcribe(socket, AUDIO)[-1]["text"] == f"Heard {len(AUDIO)} bytes."
    assert len(pool.utterances) == 1


def test_a_stop_completes_the_utterance_and_closes_the_session(start: Callable[..., Any], pool: RealtimePool) -> None:
    gateway = start(**SETTINGS)
    with session(gateway) as socket, session(gateway) as idle:
        begin(socket)
        say(socket, append(AUDIO))
        until(lambda: len(pool.utterances[0].audio) == len(AUDIO) if pool.utterances else False, "the audio")
        gateway.process.send_signal(signal.SIGTERM)
        assert heard(socket)[-1]["text"] == f"Heard {len(AUDIO)} bytes."
        assert ended(socket) == ("", 1012)
        assert ended(idle) == ("", 1012)
    assert gateway.process.wait(30) in (0, -signal.SIGTERM)
    assert [each for each in gateway.records() if each["type"] == "gateway.answer"][-1]["reason"] == "answered"


def test_metrics_count_sessions_and_utterances_by_reason(gateway: Any, pool: RealtimePool) -> None:
    before = metric(gateway, 'realtime_utterances_total{reason="answered"}')
    until(lambda: metric(gateway, "realtime_sessions ") == 0, "no session")
    with session(gateway) as socket:
        transcribe(socket, AUDIO)
        assert metric(gateway, "realtime_sessions ") == 1
    assert metric(gateway, 'realtime_utterances_total{reason="answered"}') == before + 1
    until(lambda: metric(gateway, "realtime_sessions ") == 0, "no session")
    assert pool.utterances


def test_a_model_of_another_tenant_or_without_the_api_is_an_error_of_the_utterance(
    gateway: Any, pool: RealtimePool
) -> None:
    with session(gateway) as socket:
        assert transcribe(socket, AUDIO, model="unknown")[-1]["code"] == "model_not_found"
    with session(gateway, OTHER_KEY) as socket:
        assert transcribe(socket, AUDIO)[-1]["code"] == "route_not_allowed"
    assert not pool.utterances
    assert MASK
    assert refused(gateway, "wrong") == (401, "invalid_api_key")
