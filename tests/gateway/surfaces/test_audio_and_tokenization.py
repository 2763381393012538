"""What no cloud may have: recordings, and token numbers. Every format of an answer passes as it came, once checked."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import openai
import pytest
import yaml
from recordings_made import wav
from surface_givens import API_KEY, MAIL, PROMPT, audited, post
from surface_upstream import SurfaceUpstream

from sovctl.gateway.settings import load_settings
from sovctl.support.errors import SpecError

AUDIO = ("call.wav", wav(b"\x00\xff\r\n--not a boundary\r\n" * 40), "audio/wav")
HEARD = f"Heard {len(AUDIO[1])} bytes: {PROMPT}"


@pytest.mark.filterwarnings("ignore:deprecated:DeprecationWarning")  # the client would rather not translate
@pytest.mark.parametrize("what", ["transcriptions", "translations"])
def test_a_recording_stays_on_prem_and_arrives_as_it_was(
    gateway: Any, pool: SurfaceUpstream, cloud: SurfaceUpstream, what: str
) -> None:
    create = getattr(gateway.client().audio, what).with_raw_response.create
    raw = create(model="assistant", file=AUDIO, prompt=PROMPT, temperature=0.5)
    assert raw.headers["x-sovctl-route"] == "pool"
    assert raw.parse().text == HEARD
    assert not cloud.requests
    got = pool.requests[0]
    assert (got["file"], got["model"], got["temperature"]) == (AUDIO[1], "echo", "0.5")
    record = audited(gateway)
    assert "obstacle:audio" in record["reasons"]
    assert record["surface"] == f"audio.{what}"


@pytest.mark.parametrize("response_format", ["text", "srt", "vtt"])
def test_formats_that_are_no_json_pass(gateway: Any, response_format: str) -> None:
    raw = gateway.client().audio.transcriptions.with_raw_response.create(
        model="assistant", file=AUDIO, prompt=PROMPT, response_format=response_format
    )
    assert raw.headers["content-type"] == "text/plain; charset=utf-8"
    assert HEARD in raw.text


def test_the_long_form_keeps_its_words(gateway: Any) -> None:
    answer = gateway.client().audio.transcriptions.create(
        model="assistant", file=AUDIO, response_format="verbose_json", timestamp_granularities=["word", "segment"]
    )
    assert answer.words[0].word == "Heard"


def test_vllms_stream_and_openais_pass(gateway: Any) -> None:
    create = gateway.client().audio.transcriptions.create
    chunks = list(create(model="assistant", file=AUDIO, prompt=PROMPT, stream=True))
    assert "".join(chunk.choices[0]["delta"]["content"] for chunk in chunks) == HEARD
    assert {chunk.model for chunk in chunks} == {"assistant"}
    events = list(create(model="assistant", file=AUDIO, prompt="openai", stream=True))
    assert events[-1].type == "transcript.text.done"
    assert events[-1].text == "".join(event.delta for event in events[:-1])


@pytest.fixture(name="checked", scope="module")
def checked_fixture(start: Callable[..., Any]) -> Any:
    checks = {"masked": "mask", "strict": "hand-off"}
    routes = [
        {"model": model, "pool": "chat", "release": {"identifiers": {"default": action}}}
        for model, action in checks.items()
    ]
    return start(routes=routes, handoff={})


def says(text: str) -> Callable[[Any], dict[str, Any]]:
    return lambda _: {"role": "assistant", "content": text}


@pytest.mark.parametrize("response_format", ["json", "verbose_json", "text", "srt", "vtt"])
def test_what_a_recording_says_is_checked_in_every_format(
    checked: Any, pool: SurfaceUpstream, response_format: Any
) -> None:
    pool.script.message = says(f"My address is {MAIL}. Goodbye.")
    create = checked.client().audio.transcriptions.with_raw_response.create
    raw = create(model="masked", file=AUDIO, response_format=response_format)
    assert "My address is [EMAIL]. Goodbye." in raw.text
    record = checked.records()[-1]["release"]
    assert record["verdicts"] == {"identifiers": "WARN"}
    assert set(record["reasons"]) == {"identifiers:mask:EMAIL"}
    raw = create(model="masked", file=AUDIO, response_format=response_format, prompt=f"Anna has {MAIL}.")
    assert f"My address is {MAIL}. Goodbye." in raw.text  # the client said it first


def test_streams_of_what_a_recording_says_are_checked(checked: Any, pool: SurfaceUpstream) -> None:
    pool.script.message = says(f"My address is {MAIL}. Goodbye.")
    create = checked.client().audio.transcriptions.create
    chunks = list(create(model="masked", file=AUDIO, stream=True))
    assert "".join(chunk.choices[0]["delta"]["content"] for chunk in chunks) == "My address is [EMAIL]. Goodbye."
    *deltas, done = create(model="masked", file=AUDIO, prompt="openai", stream=True)
    assert "".join(event.delta for event in deltas) == done.text == "My address is [EMAIL]. Goodbye."


@pytest.mark.parametrize("stream", [False, True])
def test_where_a_person_would_have_to_listen_a_transcript_is_refused(
    checked: Any, pool: SurfaceUpstream, stream: bool
) -> None:
    pool.script.message = says(f"My address is {MAIL}.")
    with pytest.raises(openai.PermissionDeniedError) as caught:
        list(checked.client().audio.transcriptions.create(model="strict", file=AUDIO, stream=stream))
    assert caught.value.code == "answer_withheld"
    last = checked.records()[-1]
    assert (last["reason"], last["release"]["reasons"]) == ("answer_withheld", {"identifiers:hand-off:EMAIL": 1})


def test_a_recording_may_be_larger_than_a_prompt(gateway: Any, pool: SurfaceUpstream) -> None:
    create = gateway.client().audio.transcriptions.create
    large = wav(bytes(12 << 20))
    assert create(model="assistant", file=("call.wav", large)).text.startswith(f"Heard {len(large)} bytes")
    pool.forget()
    with pytest.raises(openai.APIStatusError) as caught:
        create(model="assistant", file=("call.wav", bytes(27 << 20), "audio/wav"))
    assert caught.value.status_code == 413
    assert not pool.requests


@pytest.mark.parametrize(("asked", "sent"), [(None, "4480"), (32, "32"), (1_000_000, "4480")])
def test_every_recording_is_sent_with_a_limit_of_tokens(
    gateway: Any, pool: SurfaceUpstream, asked: int | None, sent: str
) -> None:
    body = None if asked is None else {"max_completion_tokens": asked}
    gateway.client().audio.transcriptions.create(model="assistant", file=AUDIO, extra_body=body)
    assert pool.requests[-1]["max_completion_tokens"] == sent


@pytest.mark.parametrize("asked", ["0", "-1", "1e3", "", "9" * 10])
def test_a_limit_that_is_no_count_is_refused(gateway: Any, pool: SurfaceUpstream, asked: str) -> None:
    pool.forget()
    with pytest.raises(openai.BadRequestError) as caught:
        gateway.client().audio.transcriptions.create(
            model="assistant", file=AUDIO, extra_body={"max_completion_tokens": asked}
        )
    assert (caught.value.code, caught.value.param) == ("invalid_request", "max_completion_tokens")
    assert not pool.requests


@pytest.mark.parametrize(
    ("content_type", "body", "code"),
    [
        ("application/json", b'{"model": "assistant"}', "invalid_form"),
        ("multipart/form-data", b"--x\r\n", "invalid_form"),
        ("multipart/form-data; boundary=x", b"--y\r\n\r\n--x--", "invalid_form"),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nassistant\r\n--x--',
            "invalid_request",
        ),
    ],
)
def test_what_is_no_form_with_a_file_goes_nowhere(
    gateway: Any, pool: SurfaceUpstream, content_type: str, body: bytes, code: str
) -> None:
    headers = {"authorization": f"Bearer {API_KEY}", "content-type": content_type}
    status, _, answer = gateway.request("POST", "/v1/audio/transcriptions", body, headers)
    assert (status, json.loads(answer)["error"]["code"]) == (400, code)
    assert not pool.requests


@pytest.mark.parametrize("prefix", ["", "/v1"])
def test_tokens_are_counted_and_read_by_the_pool_alone(
    gateway: Any, pool: SurfaceUpstream, cloud: SurfaceUpstream, prefix: str
) -> None:
    prompt = f"Please write to {MAIL}"
    status, headers, answer = post(gateway, f"{prefix}/tokenize", {"model": "assistant", "prompt": prompt})
    assert (status, headers["x-sovctl-route"], answer["count"]) == (200, "pool", len(prompt))
    status, _, back = post(gateway, f"{prefix}/detokenize", {"model": "assistant", "tokens": answer["tokens"]})
    assert (status, back["prompt"]) == (200, prompt)
    assert not cloud.requests
    assert post(gateway, "/tokenize", {"model": "assistant"})[0] == 400


def test_settings_give_no_cloud_what_cannot_be_tokenized(write_config: Any, tmp_path: Any) -> None:
    config = write_config(tmp_path / "gateway")
    settings = yaml.safe_load(config.read_text())
    settings["upstreams"][1]["surfaces"] = ["chat.completions", "audio.transcriptions"]
    config.write_text(yaml.safe_dump(settings))
    with pytest.raises(SpecError) as caught:
        load_settings(config)
    assert "audio.transcriptions" in caught.value.problems[0].message
