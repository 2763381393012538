"""Requests of odd shapes, encodings and markup: each is refused, or what leaves holds no planted identifier (issue 15).

A fuzzer from the outside: a real gateway between a client and two upstreams that keep every byte. No request makes the
gateway fail: no status 500 to 599, no error in its log.
"""

from __future__ import annotations

import base64
import html
import json
import re
import unicodedata
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest
from echo_upstream import EchoUpstream
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from loopback_gateway import MODEL, LoopbackGateway, running_gateway, say, write_loopback_config
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from examples import examples

# Published or reserved specimens, nobody's.
PLANTED = {
    "iban": "DE89370400440532013000",
    "mail": "anna.kovacs@example.com",
    "card": "4111111111111111",
    "key": "AKIAIOSFODNN7EXAMPLE",
}
SURFACES = ["chat.completions", "completions", "embeddings", "responses", "messages"]
_ANSWERS: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {
        "id": "1",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
    },
    "/v1/completions": {
        "id": "1",
        "object": "text_completion",
        "choices": [{"index": 0, "text": "ok", "finish_reason": "stop"}],
    },
    "/v1/embeddings": {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}]},
    "/v1/responses": {
        "id": "1",
        "object": "response",
        "status": "completed",
        "output": [
            {
                "id": "2",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "ok", "annotations": []}],
            }
        ],
    },
    "/v1/messages": {
        "id": "1",
        "type": "message",
        "role": "assistant",
        "model": "big",
        "content": [{"type": "text", "text": "ok"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
}


class KeepingUpstream(EchoUpstream):
    """Keeps every byte that it gets, without reading it, and answers alike."""

    surfaces: ClassVar[tuple[str, ...]] = tuple(SURFACES)

    def routes(self) -> list[Route]:
        """What it serves."""
        return [Route(path, self._keep, methods=["POST"]) for path in _ANSWERS]

    async def _keep(self, request: Request) -> Response:
        self.raw.append(await request.body() + b"\n" + repr(request.headers.items()).encode())
        return JSONResponse({"model": "big", "created": 1, **_ANSWERS[request.url.path]})


Site = tuple[LoopbackGateway, KeepingUpstream, KeepingUpstream]


@pytest.fixture(scope="module", name="site")
def site_fixture(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Site]:
    """With names allowed, so that no language keeps a request on-prem."""
    with KeepingUpstream() as pool, KeepingUpstream() as cloud:
        folder = tmp_path_factory.mktemp("odd")
        config = write_loopback_config(
            folder,
            cloud_port=cloud.port,
            pool_port=pool.port,
            policy={"entity_types": {"PERSON": "allow"}},
            limits={"max_depth": 40},
        )
        config.write_text(config.read_text().replace("  model: big\n", f"  model: big\n  surfaces: {SURFACES}\n"))
        with running_gateway(config) as gateway:
            yield gateway, pool, cloud


def _joined(sign: str) -> Callable[[str], str]:
    return sign.join


def _grouped(value: str) -> str:
    """Numbers in groups; addresses and keys are not written so."""
    has_groups = value in (PLANTED["iban"], PLANTED["card"])
    return " ".join(value[at : at + 4] for at in range(0, len(value), 4)) if has_groups else value


FORMS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "grouped": _grouped,
    "zero width": _joined("\u200b"),
    "soft hyphens": _joined("\u00ad"),
    "null bytes": _joined("\0"),
    "full width": lambda value: "".join(chr(ord(sign) + 0xFEE0) for sign in value),
    "decimal entities": lambda value: "".join(f"&#{ord(sign)};" for sign in value),
    "hex entities": lambda value: "".join(f"&#x{ord(sign):x};" for sign in value),
    "percent": lambda value: "".join(f"%{ord(sign):02X}" for sign in value),
    "escapes": lambda value: "".join(f"\\u{ord(sign):04x}" for sign in value),
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "hex": lambda value: value.encode().hex(),
    "json in a string": lambda value: json.dumps(json.dumps({"note": value})),
}
MARKDOWN = [
    *("{}", "**{}**", "`{}`", "> {}", "- {}\n- b", "| a | b |\n|---|---|\n| {} | x |", "# {}", "~~{}~~"),
    *("[x](https://a.example/?q={})", "![x](https://a.example/{} 'y')", "[x][r]\n\n[r]: https://a.example/?q={}"),
    *("<https://a.example/?q={}>", "<b>{}</b>", "<!-- {} -->", "<img src=x alt='{}'>", "<p>\n\n{}\n\n</p>", "\\{}"),
    *("1. {}\n2. The next", "a\r\n{}\r\nb", "[{}]", "({})", '"{}"', "see: {}; and", "\t{}\t", "```\n{}\n```"),
    *("$${}$$", "\u202e{}\u202c"),
]
_AROUND = st.sampled_from(
    [
        *("", "Please read this. ", "Прошу ", "请看 ", "\ud83d\ude00 ", "\u200f", "\0 ", "\ufeff", "e\u0301 "),
        *("\n\n", "\x1b[31m "),
    ]
)
_FORMS = st.sampled_from(sorted(FORMS)).map(FORMS.__getitem__)
_WRITTEN = st.builds(
    lambda value, form, markup, before, after: f"{before} {markup.replace('{}', form(value))} {after}",
    *(st.sampled_from(sorted(PLANTED.values())), _FORMS, st.sampled_from(MARKDOWN), _AROUND, _AROUND),
)
_LEAVES = st.one_of(
    _WRITTEN, _WRITTEN, st.text(max_size=9), st.integers(-9, 9**20), st.booleans(), st.none(), st.floats()
)
_KEYS = st.sampled_from(["note", "card", "a", "", "text", "content", "value", "$ref", "role", "é", "x-y", "data"])
_SHAPES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(_KEYS, inner, max_size=3),
        inner.map(lambda each: json.dumps(each, ensure_ascii=False)),
        inner.map(json.dumps),
    ),
    max_leaves=5,
)
_ARGUMENTS = _SHAPES.map(lambda each: json.dumps({"x": each}))
_CALLS = _ARGUMENTS.map(
    lambda arguments: [{"id": "1", "type": "function", "function": {"name": "pay", "arguments": arguments}}]
)
_PARTS = st.lists(_WRITTEN.map(lambda text: {"type": "text", "text": text}), min_size=1, max_size=3)
_CHAT = st.builds(
    lambda content, more, field, calls: (
        "/v1/chat/completions",
        {
            "model": MODEL,
            "messages": [
                {"role": "assistant", "content": None, "tool_calls": calls},
                {"role": "tool", "tool_call_id": "1", "content": more if isinstance(more, str) else json.dumps(more)},
                {"role": "user", "content": content},
            ],
            field: more,
        },
    ),
    *(
        _WRITTEN | _PARTS | _SHAPES,
        _SHAPES,
        st.sampled_from(["note", "stop", "metadata", "prediction", "tools"]),
        _CALLS,
    ),
)
_BLOCKS = st.one_of(
    _WRITTEN,
    _PARTS,
    _WRITTEN.map(lambda text: [{"type": "tool_result", "tool_use_id": "1", "content": text}]),
    _SHAPES.map(lambda each: [{"type": "tool_use", "id": "1", "name": "pay", "input": {"x": each}}]),
)
_OTHERS = st.one_of(
    st.builds(
        lambda content, system: (
            "/v1/messages",
            {"model": MODEL, "max_tokens": 9, "system": system, "messages": [{"role": "user", "content": content}]},
        ),
        *(_BLOCKS, _WRITTEN),
    ),
    st.builds(
        lambda given_input, instructions: (
            "/v1/responses",
            {"model": MODEL, "input": given_input, "instructions": instructions},
        ),
        *(_WRITTEN | _SHAPES, _WRITTEN),
    ),
    (_WRITTEN | st.lists(_WRITTEN, max_size=3)).map(lambda text: ("/v1/completions", {"model": MODEL, "prompt": text})),
    (_WRITTEN | st.lists(_WRITTEN, max_size=3)).map(lambda text: ("/v1/embeddings", {"model": MODEL, "input": text})),
)


def _every_character_escaped(body: Any) -> str:
    written = json.dumps(body)
    return re.sub(r"(?<=[A-Za-z0-9 @.])[A-Z0-9@.](?=[A-Z0-9 @.])", lambda m: f"\\u{ord(m.group()):04X}", written)


def _with_equal_keys(body: Any) -> str:
    written = json.dumps(body)
    return f'{{"note": "{PLANTED["mail"]}", {written[1:-1]}, "note": 1}}'


_TEXTS: list[Callable[[Any], str]] = [
    json.dumps,
    lambda body: json.dumps(body, ensure_ascii=False),
    lambda body: json.dumps(body, indent=3),
    _every_character_escaped,
    _with_equal_keys,
    lambda body: json.dumps(body) + " ",
    lambda body: "\n\t " + json.dumps(body),
    lambda body: json.dumps(body) + json.dumps(body),
    lambda body: json.dumps(body)[:-1],
    lambda body: json.dumps([body]),
    lambda body: json.dumps(json.dumps(body)),
    lambda body: f"/* {PLANTED['card']} */{json.dumps(body)}",
]
_ENCODINGS: list[str] = ["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp037"]


def normal(text: str) -> str:
    """Return the letters and digits of a text after everything that a reader might undo."""
    for _ in range(3):
        text = html.unescape(urllib.parse.unquote(text))
        text = re.sub(r"\\+u([0-9a-fA-F]{4})", lambda match: chr(int(match.group(1), 16)), text)
        text = re.sub(r"\\+([\"\\/])", r"\1", text)
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text))).lower()


def leaks(raw: bytes) -> list[str]:
    """Names of the planted values in what left, in whatever form of `FORMS`."""
    text = raw.decode("utf-8", "replace")
    plain, found = normal(text), []
    for name, value in PLANTED.items():
        coded = [value.encode().hex(), *(base64.b64encode(b"\0" * n + value.encode()).decode()[4:-4] for n in range(3))]
        if normal(value) in plain or any(each in text for each in coded):
            found.append(name)
    return found


def check(site: Site, path: str, data: bytes, **headers: str) -> int:
    """Send a body; check what left and the status, which is returned."""
    gateway, _, cloud = site
    cloud.raw.clear()
    status, _, answer = gateway.post(data, path=path, headers={"content-type": "application/json", **headers})
    assert status == 200 or 400 <= status < 500, (status, answer)
    assert not [name for raw in cloud.raw for name in leaks(raw)]
    return status


_SETTINGS = {"suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow], "deadline": None}


@given(_CHAT | _OTHERS, st.sampled_from(_TEXTS), st.sampled_from(_ENCODINGS))
@examples(600, **_SETTINGS)
def test_no_planted_identifier_leaves_in_any_shape_and_encoding(
    site: Site,
    asked: tuple[str, Any],
    write: Callable[[Any], str],
    encoding: str,
) -> None:
    path, body = asked
    check(site, path, write(body).encode(encoding, "surrogatepass" if encoding.startswith("utf-") else "replace"))


@given(st.binary(max_size=80), st.integers(0, 200), st.integers(0, 40))
@examples(200, **_SETTINGS)
def test_no_damaged_body_makes_it_fail(site: Site, noise: bytes, start: int, length: int) -> None:
    whole = json.dumps(say(f"Please write to {PLANTED['mail']} and pay {PLANTED['iban']}.")).encode()
    gateway, _, cloud = site
    cloud.raw.clear()
    status, _, answer = gateway.post(whole[:start] + noise + whole[start + length :])
    assert status == 200 or 400 <= status < 500, (status, answer)


_PIECES = st.sampled_from(
    [
        *(b"--x\r\n", b"--x--\r\n", b"\r\n", b"\n", b"\0", b"\xff", b"--", b"x"),
        b'Content-Disposition: form-data; name="model"\r\n\r\nassistant\r\n',
        b'Content-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF\r\n',
    ]
)
_FORM_TYPES = st.sampled_from(["multipart/form-data; boundary=x", "multipart/form-data", "text/plain", ""])


@given(st.lists(_PIECES, max_size=9).map(b"".join), _FORM_TYPES)
@examples(200, **_SETTINGS)
def test_no_form_makes_it_fail_or_leaves(site: Site, body: bytes, content_type: str) -> None:
    check(site, "/v1/audio/transcriptions", body, **{"content-type": content_type})
    assert not site[2].raw


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_search_finds_every_form(form: Callable[[str], str]) -> None:
    for name, value in PLANTED.items():
        for raw in (json.dumps(say(form(value))), json.dumps(say(form(value)), ensure_ascii=False)):
            assert leaks(raw.encode()) == [name]


def test_requests_leave_and_the_log_has_no_error(
    site: Site,
) -> None:
    """After the examples above: the fuzzer is not clean only because nothing leaves."""
    gateway, _, cloud = site
    for name, value in PLANTED.items():
        assert check(site, "/v1/chat/completions", json.dumps(say(f"Please look at {value} today.")).encode()) == 200
        assert len(cloud.raw) == 1, name
    logged = [json.loads(line) for line in gateway.log().splitlines() if line.startswith("{")]
    wrong = {"internal error", "unhandled error", "detector failed"}
    assert not [each for each in logged if each.get("event") in wrong]
    assert "Traceback" not in gateway.log()
