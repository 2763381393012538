"""Files: text in them leaves as tokens, re-packed; what is no text stays on-prem, or is refused by policy."""

from __future__ import annotations

import base64
from typing import Any

import openai
import pytest
from surface_givens import IBAN, MAIL, PROMPT, audited, post
from surface_upstream import SurfaceUpstream

TABLE = f"name;account\nfirst;{IBAN}\nsecond;{MAIL}\n"
PDF = base64.b64encode(b"%PDF-1.7\n\x00\x01 invented").decode()


def packed(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def unpacked(value: str) -> str:
    return base64.b64decode(value.rpartition(",")[2]).decode()


def chat_file(file_data: str, **more: Any) -> list[dict[str, Any]]:
    file = {"filename": "accounts.csv", "file_data": file_data, **more}
    return [{"type": "text", "text": "Please sum this up"}, {"type": "file", "file": file}]


@pytest.mark.parametrize("head", ["data:text/csv;base64,", "data:text/plain;charset=utf-8;base64,", ""])
def test_a_file_of_text_leaves_with_tokens_in_it(gateway: Any, cloud: SurfaceUpstream, head: str) -> None:
    cloud.script.message = lambda body: {
        "role": "assistant",
        "content": unpacked(body["messages"][0]["content"][1]["file"]["file_data"]),
    }
    text = TABLE if "csv" in head else f"Please pay to {IBAN} and write to {MAIL}"
    raw = gateway.client().chat.completions.with_raw_response.create(
        model="assistant", messages=[{"role": "user", "content": chat_file(head + packed(text))}]
    )
    assert raw.headers["x-sovctl-route"] == "cloud"
    assert raw.parse().choices[0].message.content == text
    sent = cloud.requests[0]["messages"][0]["content"][1]["file"]["file_data"]
    assert sent.startswith(head)
    assert IBAN not in unpacked(sent)
    assert MAIL not in unpacked(sent)
    assert unpacked(sent).replace("first;IBAN_", "") != text


def test_a_clean_file_leaves_byte_for_byte(gateway: Any, cloud: SurfaceUpstream) -> None:
    file_data = "data:text/csv;base64," + packed("a;b\n1;2\n")
    gateway.client().chat.completions.create(
        model="assistant", messages=[{"role": "user", "content": chat_file(file_data)}]
    )
    assert cloud.requests[0]["messages"][0]["content"][1]["file"]["file_data"] == file_data


def test_responses_and_messages_read_files_too(gateway: Any, cloud: SurfaceUpstream) -> None:
    part = {"type": "input_file", "filename": "a.csv", "file_data": "data:text/csv;base64," + packed(TABLE)}
    ask = [{"role": "user", "content": [{"type": "input_text", "text": "Please sum this up"}, part]}]
    assert post(gateway, "/v1/responses", {"model": "assistant", "input": ask})[1]["x-sovctl-route"] == "cloud"
    assert IBAN not in unpacked(cloud.requests[0]["input"][0]["content"][1]["file_data"])
    source = {"type": "base64", "media_type": "text/csv", "data": packed(TABLE)}
    blocks = [{"type": "document", "source": source}, {"type": "text", "text": "Please sum this up"}]
    body = {"model": "assistant", "max_tokens": 9, "messages": [{"role": "user", "content": blocks}]}
    assert post(gateway, "/v1/messages", body)[1]["x-sovctl-route"] == "cloud"
    assert IBAN not in unpacked(cloud.requests[1]["messages"][0]["content"][0]["source"]["data"])


@pytest.mark.parametrize(
    "content",
    [
        chat_file("data:application/pdf;base64," + PDF),
        chat_file(PDF),
        chat_file("data:text/plain;base64," + PDF),
        chat_file("data:text/csv;base64," + packed(TABLE), file_id="file-1"),
        [{"type": "file", "file": {"file_id": "file-1"}}, {"type": "text", "text": "Please sum this up"}],
        [{"type": "image_url", "image_url": {"url": "data:text/plain;base64," + packed("hi")}}],
    ],
)
def test_what_is_no_text_or_lies_elsewhere_stays_on_prem(
    gateway: Any, pool: SurfaceUpstream, cloud: SurfaceUpstream, content: Any
) -> None:
    raw = gateway.client().chat.completions.with_raw_response.create(
        model="assistant", messages=[{"role": "user", "content": content}]
    )
    assert raw.headers["x-sovctl-route"] == "pool"
    assert not cloud.requests
    assert pool.requests[0]["messages"][0]["content"] == content
    assert {"obstacle:file", "obstacle:image"} & set(audited(gateway)["reasons"])


def test_a_site_may_refuse_what_it_cannot_inspect(start: Any, pool: SurfaceUpstream, cloud: SurfaceUpstream) -> None:
    gateway = start(
        policy={"name_languages": ["en"], "obstacles": {"image": "block", "audio": "on-prem", "file": "block"}}
    )
    image = [
        {"type": "text", "text": PROMPT},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
    ]
    with pytest.raises(openai.PermissionDeniedError) as caught:
        gateway.client().chat.completions.create(model="assistant", messages=[{"role": "user", "content": image}])
    assert caught.value.code == "policy_blocked"
    assert not pool.requests
    assert not cloud.requests
    assert audited(gateway)["reasons"] == ["obstacle-blocked:image"]
    gateway.client().chat.completions.create(model="inside", messages=[{"role": "user", "content": image}])
    assert len(pool.requests) == 1
    table = chat_file("data:text/csv;base64," + packed(TABLE))
    gateway.client().chat.completions.create(model="assistant", messages=[{"role": "user", "content": table}])
    assert len(cloud.requests) == 1
