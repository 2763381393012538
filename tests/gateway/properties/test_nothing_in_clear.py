"""No detected value in any byte that leaves or lies: what the cloud got, logs, metrics, and every file on the disk."""

from __future__ import annotations

import base64
import json
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from echo_upstream import EchoUpstream
from loopback_gateway import MODEL, LoopbackGateway, running_gateway, write_loopback_config

# Each stands for nobody: checksum-valid or reserved, and told apart, so that a leak says where it was.
VALUES = {
    "content": "DE89370400440532013000",
    "second message": "anna.kovacs@example.com",
    "system": "4111111111111111",
    "content part": "j-weber@mail.example.org",
    "tool arguments": "GB29NWBK60161331926819",
    "tool description": "5500005555555559",
    "unknown field": "b.novak@example.net",
    "metadata": "c.silva@example.net",
    "user": "d.rossi@example.net",
    "link": "e.meyer@example.net",
    "escaped": "f.kaya@example.net",
    "streamed": "FR1420041010050500013M02606",
    "refused": "g.sato@example.net",
    "rejected": "h.lind@example.net",
    "on-prem": "i.haddad@example.net",
    "conversation": "conversation-of-k.ivanova",
}


def encodings(value: str) -> dict[str, bytes]:
    """What a value may look like in a file or on the wire."""
    raw = value.encode()
    found = {
        "utf-8": raw,
        "upper case": value.upper().encode(),
        "lower case": value.lower().encode(),
        "utf-16": value.encode("utf-16-le"),
        "hex": raw.hex().encode(),
        "percent": urllib.parse.quote(value, safe="").encode(),
        "percent all": "".join(f"%{byte:02x}" for byte in raw).encode(),
        "reversed": raw[::-1],
        "grouped": " ".join(value[at : at + 4] for at in range(0, len(value), 4)).encode(),
        "json escapes": "".join(f"\\u{ord(sign):04x}" for sign in value).encode(),
    }
    for shift in range(3):  # wherever it begins in a longer base64 text, its middle reads like this
        found[f"base64 at {shift}"] = base64.b64encode(b"\0" * shift + raw)[4:-4]
    return found


def places_of(values: dict[str, str], haystacks: dict[str, bytes]) -> list[str]:
    """Where something is found; names of values only, never the values."""
    return [
        f"{name} as {how} in {place}"
        for name, value in values.items()
        for how, needle in encodings(value).items()
        for place, data in haystacks.items()
        if needle in data
    ]


@pytest.fixture(scope="module")
def spoken(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[LoopbackGateway, EchoUpstream, dict[str, bytes]]]:
    """A gateway after a day's work, stopped; its cloud; and everything that left it or lies in its folder."""
    folder = tmp_path_factory.mktemp("clear")
    with EchoUpstream() as cloud, EchoUpstream() as pool:
        config = write_loopback_config(folder, cloud_port=cloud.port, pool_port=pool.port)
        with running_gateway(config) as gateway:
            _work(gateway, cloud)
            wire = b"\n".join(cloud.raw)
            metrics = gateway.get("/metrics")[1]
            # While it runs, so that what is only in a write-ahead log is seen as well.
            running = {f"{path.name} (running)": path.read_bytes() for path in _files(folder)}
        stopped = {path.name: path.read_bytes() for path in _files(folder)}
        yield gateway, cloud, {"the cloud": wire, "metrics": metrics, **running, **stopped}


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


def _work(gateway: LoopbackGateway, cloud: EchoUpstream) -> None:
    """Every kind of request, with every kind of end."""
    escaped = "".join(f"\\u{ord(sign):04x}" if sign in "@." else sign for sign in VALUES["escaped"])
    call = {"name": "pay", "arguments": json.dumps({"iban": VALUES["tool arguments"]})}
    body: dict[str, Any] = {
        "model": MODEL,
        "user": VALUES["user"],
        "metadata": {"mail": VALUES["metadata"]},
        "note": {"deep": [f"please write to {VALUES['unknown field']}"]},
        "tools": [
            {"type": "function", "function": {"name": "pay", "description": f"not {VALUES['tool description']}"}}
        ],
        "messages": [
            {"role": "system", "content": f"Never pay with the card {VALUES['system']} again."},
            {"role": "user", "content": f"Please confirm the transfer to {VALUES['content']}."},
            {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": call}]},
            {"role": "tool", "tool_call_id": "1", "content": f'{{"mail": "{escaped}"}}'},
            {"role": "user", "content": [{"type": "text", "text": f"Thank you, write to {VALUES['content part']}"}]},
            {"role": "user", "content": f"And see https://bank.example/?m={VALUES['link']} for the rest of it"},
            {"role": "user", "content": f"Or write to {VALUES['second message']} instead, please."},
        ],
    }
    named = {"x-sovctl-conversation": VALUES["conversation"]}
    for stream in (False, True):
        status, headers, answer = gateway.post({**body, "stream": stream}, headers=named)
        assert (status, headers["x-sovctl-route"]) == (200, "cloud"), answer
    text = f"Please confirm the transfer to {VALUES['streamed']} as soon as you can."
    assert VALUES["streamed"].encode() in gateway.post(_say(text))[2]
    for status, name in ((400, "rejected"), (503, "refused")):  # it quotes what it was asked in its error
        cloud.script.status = status
        gateway.post(_say(f"Please write to {VALUES[name]} about the contract."))
    cloud.script.status = 200
    status, headers, _ = gateway.post(_say(f"Пожалуйста, напишите на {VALUES['on-prem']} сегодня."))
    assert (status, headers["x-sovctl-route"]) == (200, "pool")


def _say(text: str) -> dict[str, Any]:
    return {"model": MODEL, "messages": [{"role": "user", "content": text}]}


def test_everything_was_done(spoken: Any) -> None:
    gateway, cloud, haystacks = spoken
    assert len(cloud.raw) == 5
    assert {"vault.db", "entries", "log"} <= set(haystacks)
    reasons = [record.get("reason") for record in gateway.records() if record["type"] == "gateway.answer"]
    assert len(reasons) == 6


def test_the_search_finds_what_is_there() -> None:
    for name, needle in encodings(VALUES["content"]).items():
        assert places_of({"x": VALUES["content"]}, {"there": b"..." + needle + b"..."}), name
    for shift in range(3):
        hidden = base64.b64encode(b"x" * shift + VALUES["content"].encode() + b"yz")
        assert places_of({"x": VALUES["content"]}, {"there": hidden})


def test_no_value_is_in_any_byte_that_left_or_lies(spoken: Any) -> None:
    _, _, haystacks = spoken
    assert places_of(VALUES, haystacks) == []
