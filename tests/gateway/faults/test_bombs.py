"""Requests made to hurt: too large, too deep, full of odd characters, or written against somebody's patterns.

Each has a defined answer, takes time in proportion to its size, and whoever asks meanwhile is served.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from echo_upstream import EchoUpstream
from loopback_gateway import KEY, MODEL, LoopbackGateway, running_gateway, say, write_loopback_config

from examples import sample_bytes

_VALUE = "anna.kovacs@example.com"


@pytest.fixture(scope="module")
def upstream() -> Iterator[EchoUpstream]:
    with EchoUpstream() as found:
        found.script.message = lambda _: {"role": "assistant", "content": "yes"}
        yield found


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, upstream: EchoUpstream) -> Iterator[LoopbackGateway]:
    config = write_loopback_config(tmp_path_factory.mktemp("bombs"), cloud_port=upstream.port, pool_port=upstream.port)
    with running_gateway(config) as found:
        found.post(say(f"Please write to {_VALUE}, and to nobody else."))  # what is made on first use is made
        yield found


def reason(said: bytes) -> str:
    return str(json.loads(said)["error"]["sovctl"]["reason"])


def peak_bytes(gateway: LoopbackGateway) -> int:
    status = Path(f"/proc/{gateway.process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM:")).split()[1]) * 1024


def cpu_s(gateway: LoopbackGateway) -> float:
    fields = Path(f"/proc/{gateway.process.pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def serves(gateway: LoopbackGateway) -> bool:
    return gateway.post(say(f"Please write to {_VALUE} today."))[0] == 200


def test_a_body_of_50_mb_is_refused_and_not_kept(gateway: LoopbackGateway) -> None:
    body = json.dumps(say("x" * (50 << 20))).encode()
    before = peak_bytes(gateway)
    try:
        status, _, said = gateway.post(body)
        assert (status, reason(said)) == (413, "body_too_large")
    except (BrokenPipeError, ConnectionResetError):
        pass  # it has closed while we were still sending; the answer may be lost on the way
    pieces = (body[at : at + 65536] for at in range(0, len(body), 65536))
    try:
        status, _, said = gateway.post(pieces, headers={"transfer-encoding": "chunked"})
        assert (status, reason(said)) == (413, "body_too_large")
    except (BrokenPipeError, ConnectionResetError):
        pass
    assert peak_bytes(gateway) - before < 32 << 20
    assert serves(gateway)


def nested(depth: int, opened: str, closed: str, inner: str = "1") -> bytes:
    return (
        f'{{"model": "{MODEL}", "messages": [{{"role": "user", "content": "hi"}}], "extra": '
        + opened * depth
        + inner
        + closed * depth
        + "}"
    ).encode()


def strings_in_strings(depth: int) -> Any:
    """JSON in a string in JSON in a string; it doubles with each level, so it cannot be deep."""
    inner: Any = {"arguments": _VALUE}
    for _ in range(depth):
        inner = {"arguments": json.dumps(inner)}
    return inner


DEEP = {
    "lists": nested(100_000, "[", "]"),
    "objects": nested(100_000, '{"a":', "}"),
    "just too many": nested(80, "[", "]"),
    "lists that never end": nested(100_000, "[", ""),
    "objects in lists": nested(50_000, '[{"a":', "}]"),
    "in a string": json.dumps(say("hi", extra={"arguments": "[" * 100_000 + "]" * 100_000})).encode(),
    "wide and deep": nested(70, '[1,2,3,"x",', "]"),
}


@pytest.mark.parametrize("bomb", DEEP)
def test_nesting_without_end_is_a_400_or_kept_inside(gateway: LoopbackGateway, bomb: str) -> None:
    status, _, said = gateway.post(DEEP[bomb])
    if status == 200:  # what no parser reads as JSON is a text
        assert bomb == "in a string"
    else:
        assert (status, reason(said)) in ((400, "too_deep"), (400, "invalid_json"))
    assert serves(gateway)


def test_strings_in_strings_hide_nothing(gateway: LoopbackGateway, upstream: EchoUpstream) -> None:
    upstream.raw.clear()
    status, _, said = gateway.post(say("Please look at this.", extra=strings_in_strings(12)))
    assert status == 200, said
    assert _VALUE.encode() not in b"".join(upstream.raw)
    status, _, said = gateway.post(say("Please look at this.", extra=strings_in_strings(17)))
    assert status in (200, 400)


UNICODE = {
    "marks": "Z" + "\u0335\u0321\u0334" * 100_000,
    "ligatures that unfold": "\ufdfa" * 100_000,  # one character is eighteen after NFKC
    "right to left": "\u202e\u2066\u2067" * 100_000 + _VALUE,
    "zero width": "\u200b".join(_VALUE * 2_000),
    "tags": "\U000e0061" * 200_000,
    "variation selectors": "a\ufe0f" * 100_000,
    "every block": "".join(chr(point) for point in range(0xA0, 0x11000) if not 0xD800 <= point < 0xE000) * 3,
    "mathematical": "\U0001d41a" * 100_000,
    "hangul jamo": "\u1100\u1161\u11a8" * 60_000,
    "nul": "\0" * 100_000 + _VALUE,
    "newlines": "\r\n\u2028\u2029\x85" * 80_000,
}


@pytest.mark.parametrize("bomb", UNICODE)
def test_odd_characters_are_an_answer_like_any_other(
    gateway: LoopbackGateway, upstream: EchoUpstream, bomb: str
) -> None:
    upstream.raw.clear()
    text = f"Please write to {_VALUE}. {UNICODE[bomb]}"
    status, headers, said = gateway.post(say(text), timeout_s=60)
    assert status == 200, said
    if headers["x-sovctl-route"] == "cloud":
        assert _VALUE.encode() not in b"".join(upstream.raw)
    assert serves(gateway)


@pytest.mark.parametrize(
    "raw",
    [
        b'"\\ud83d"',
        b'"\\udc00\\ud800"',
        b'"\xc3"',
        b'"\xed\xa0\x80"',
        b'"\xc0\xaf"',
        b'"\xff\xfe"',
        b'"\\u00"',
        b'"\x01"',
        b'"a',
        b"\xef\xbb\xbf",
    ],
)
def test_broken_unicode_is_a_400(gateway: LoopbackGateway, raw: bytes) -> None:
    body = b'{"model": "%b", "messages": [{"role": "user", "content": %b}]}' % (MODEL.encode(), raw)
    status, _, said = gateway.post(body)
    assert (status, reason(said)) == (400, "invalid_json")


# What somebody's pattern would begin to match and never finish, to be repeated.
PATTERNS = {
    "at signs": "a@",
    "dots behind an at": "a@a.",
    "digits and dashes": "1-",
    "digits and spaces": "1 2",
    "colons": "::",
    "hexadecimal and colons": "fe80:",
    "opening brackets": "((((",
    "links": "](http://",
    "backslashes": "\\\\\\",
    "quotes": "\"'",
    "keys": "-----BEGIN ",
    "web tokens": "eyJhbGci.eyJ.",
    "connection strings": "postgres://a:",
    "base64": "QUJD",
    "percent escapes": "%25%32%35",
    "HTML escapes": "&#38;&amp;#",
    "unicode escapes": "\\u005cu0040",
    "names": "Mr. Mr. Dr. ",
    "titles without end": "Dear Mr. Aaaaaaaa-",
    "tokens begun": "IBAN_7K2M",
    "tokens with escapes": "NATIONAL\\_ID\\_",
    "white space": " \t",
    "one letter": "a",
    "one digit": "1",
    "capitals": "Aa ",
    "at and dot in words": "a at b dot ",
    "passwords": "password is password: ",
    "phones": "+1 (2",
    "cells": "Name\tAnna\t",
    "names in cells": "Anna\tQuandt\t",
    "tabs behind names": "Anna Quandt\t\t\t",
    "labels in one line": "Ansprechpartner\tOla Nordmann ",
    "labels on lines": "Patient:\n",
    "labels and empty lines": "Contact person:\n\n",
    "names below labels": "Contact person\nOla Nordmann\n",
    "columns of people": "Full name\tCity\nOla Nordmann\tOslo\n",
}


@pytest.mark.parametrize("bomb", PATTERNS)
def test_time_grows_with_size_and_no_faster(gateway: LoopbackGateway, bomb: str) -> None:
    def spend(size: int, number: int) -> float:
        text = f"Please read text {number} for me: " + PATTERNS[bomb] * (size // len(PATTERNS[bomb]))
        begun = cpu_s(gateway)
        status, _, said = gateway.post(say(text), timeout_s=120)
        assert status == 200, said
        return cpu_s(gateway) - begun

    small = spend(sample_bytes(64 << 10), 0)
    # Four times the text: four times the time if linear, sixteen if quadratic; the rest is for a busy machine, where
    # one measurement may also be an outlier. Each text is new, because findings are remembered.
    spent = [spend(sample_bytes(256 << 10), number) for number in (1, 2, 3)]
    assert min(spent) < 9 * small + 0.3, (small, spent)


def test_more_identifiers_than_can_be_looked_for_stay_inside(gateway: LoopbackGateway, upstream: EchoUpstream) -> None:
    upstream.raw.clear()
    text = "Please write to " + " and ".join(f"customer-{number}@example.com" for number in range(25_000))
    status, headers, _ = gateway.post(say(text), timeout_s=120)
    assert (status, headers["x-sovctl-route"]) == (200, "pool")
    asked = [record for record in gateway.records() if record["type"] == "gateway.request"][-1]
    assert "obstacle:too-many-identifiers" in asked["reasons"]


def test_a_bomb_does_not_keep_others_waiting(gateway: LoopbackGateway) -> None:
    text = "Please read this for me: " + "1 2 a@a. :: Dear Mr. Aa-" * 8_000
    with ThreadPoolExecutor(1) as aside:
        bomb = aside.submit(gateway.post, say(text), timeout_s=120)
        served = 0
        while not bomb.done():
            assert gateway.get("/healthz")[0] == 200
            served += 1
        status, _, said = bomb.result()
    assert status == 200 or reason(said) == "too_much_work"
    assert served > 1


def test_no_internal_error_is_logged(gateway: LoopbackGateway) -> None:
    events = [json.loads(line) for line in gateway.log().splitlines()]
    assert not [each for each in events if each["event"] in ("internal error", "unhandled error")], events
    assert _VALUE not in gateway.log()
    assert KEY not in gateway.log()
