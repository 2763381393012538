"""Forms: a pool reads exactly the fields that the gateway inspected, or the form is refused.

The upstream parses as vLLM does: with Starlette's `request.form()`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recordings_made import wav
from starlette.datastructures import FormData, Headers, UploadFile
from starlette.formparsers import MultiPartParser
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from surface_givens import API_KEY, IBAN, audited
from surface_upstream import PoolUpstream, SurfaceUpstream

from examples import examples
from sovctl.gateway.domain.errors import Refused
from sovctl.gateway.surfaces import SURFACES

LIMIT = ("max_completion_tokens", "4480")
"""Field that the gateway adds to a form without it."""
AUDIO = wav(b"\x00\xff\r\n--not a boundary\r\n" * 4)
SURFACE = SURFACES["/v1/audio/transcriptions"]
TYPE = "multipart/form-data; boundary=x"
MODEL = b'Content-Disposition: form-data; name="model"\r\n\r\ninside'
FILE = b'Content-Disposition: form-data; name="file"; filename="call.wav"\r\nContent-Type: audio/wav\r\n\r\n' + AUDIO


def form(*parts: bytes, boundary: bytes = b"x") -> bytes:
    return b"".join(b"--" + boundary + b"\r\n" + part + b"\r\n" for part in parts) + b"--" + boundary + b"--\r\n"


def field(disposition: bytes, value: bytes, *headers: bytes) -> bytes:
    return b"\r\n".join([b"Content-Disposition: form-data; " + disposition, *headers, b"", value])


async def parsed(content_type: str, body: bytes) -> FormData:
    async def stream() -> Any:
        yield body

    return await MultiPartParser(Headers({"content-type": content_type}), stream()).parse()


async def read_as_vllm(content_type: str, body: bytes) -> list[tuple[str, Any]]:
    """Every field in order; a file as its name and content."""
    form_data = await parsed(content_type, body)
    found: list[tuple[str, Any]] = []
    for name, value in form_data.multi_items():
        found.append((name, (value.filename, await value.read()) if isinstance(value, UploadFile) else value))
    await form_data.close()
    return found


class FormUpstream(PoolUpstream):
    """A pool that keeps the fields of forms as Starlette reads them."""

    async def _transcribe(self, request: Request) -> Response:
        raw = await request.body()
        self.raw.append(raw)
        read = await read_as_vllm(request.headers["content-type"], raw)
        self.requests.append({"fields": read, "content-type": request.headers["content-type"]})
        return JSONResponse({"text": "heard"})


@pytest.fixture(scope="module")
def pool(pki: Any) -> Iterator[FormUpstream]:
    with FormUpstream(pki.certificate_file, pki.key_file, client_ca_file=pki.ca_file) as upstream:
        yield upstream


@pytest.fixture(scope="module")
def cloud(pki: Any) -> Iterator[SurfaceUpstream]:
    with SurfaceUpstream(pki.certificate_file, pki.key_file) as upstream:
        yield upstream


def upload(gateway: Any, body: bytes, content_type: str = TYPE) -> tuple[int, Any]:
    headers = {"authorization": f"Bearer {API_KEY}", "content-type": content_type}
    status, _, answer = gateway.request("POST", "/v1/audio/transcriptions", body, headers)
    return status, json.loads(answer)


REFUSED = {
    "second model": form(MODEL, field(b'name="model"', b"other"), FILE),
    "second file": form(MODEL, FILE, FILE),
    "second prompt": form(MODEL, FILE, field(b'name="prompt"', b"a"), field(b"name=prompt", b"b")),
    "second model with a quoted semicolon": form(MODEL, field(b'x=";"; name="model"', b"other"), FILE),
    "model as a file": form(field(b'name="model"; filename="m"', b"inside"), FILE),
    "file as text": form(MODEL, field(b'name="file"', AUDIO)),
    "file with an extended name only": form(MODEL, field(b"name=\"file\"; filename*=UTF-8''a.wav", AUDIO)),
    "file without a name": form(MODEL, field(b'name="file"; filename=""', AUDIO)),
    "other file": form(MODEL, FILE, field(b'name="prompt"; filename="p"', b"x")),
    "field without a name": form(MODEL, FILE, field(b'x="y"', b"a")),
    "field with an empty name": form(MODEL, FILE, field(b'name=""', b"a")),
    "extended name": form(MODEL, FILE, field(b"name*=UTF-8''prompt", b"a")),
    "no disposition": form(MODEL, FILE, b"Content-Type: text/plain\r\n\r\na"),
    "other disposition": form(MODEL, FILE, b'Content-Disposition: attachment; name="prompt"\r\n\r\na'),
    "two dispositions": form(
        MODEL, FILE, b'Content-Disposition: form-data; name="a"\r\n' + field(b'name="prompt"', b"b")
    ),
    "preamble": b"hello\r\n" + form(MODEL, FILE),
    "leading line": b"\r\n" + form(MODEL, FILE),
    "epilogue": form(MODEL, FILE) + b"--x\r\n" + MODEL,
    "second form in the epilogue": form(MODEL, FILE) + form(MODEL, FILE),
    "no final boundary": form(MODEL, FILE).removesuffix(b"--x--\r\n"),
    "half a final boundary": form(MODEL, FILE).removesuffix(b"-\r\n"),
    "bare line feeds": form(MODEL, FILE).replace(b"\r\n", b"\n"),
    "line feed in a header": form(MODEL, FILE, field(b'name="prompt"\nX: y', b"a")),
    "null byte in a name": form(MODEL, FILE, field(b'name="prompt\x00"', b"a")),
    "space before the colon": form(MODEL, FILE, b'Content-Disposition : form-data; name="prompt"\r\n\r\na'),
    "folded header": form(MODEL, FILE, b'Content-Disposition: form-data;\r\n name="prompt"\r\n\r\na'),
    "name that is not UTF-8": form(MODEL, FILE, field(b'name="pr\xffmpt"', b"a")),
    "value that is not UTF-8": form(MODEL, FILE, field(b'name="prompt"', b"\xff")),
    "encoded value": form(MODEL, FILE, field(b'name="prompt"', b"YQ==", b"Content-Transfer-Encoding: base64")),
    "large text": form(MODEL, FILE, field(b'name="prompt"', b"a" * (1 << 20) + b"b")),
    "long header": form(MODEL, FILE, field(b'name="prompt"; x="' + b"y" * 5000 + b'"', b"a")),
    "many parts": form(MODEL, FILE, *[field(b'name="a[]"', b"")] * 200),
    "stream that is neither true nor false": form(MODEL, FILE, field(b'name="stream"', b"maybe")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses_forms_that_parsers_read_differently(gateway: Any, pool: FormUpstream, name: str) -> None:
    status, answer = upload(gateway, REFUSED[name])
    assert (status, answer["error"]["code"] in ("invalid_form", "invalid_request")) == (400, True)
    assert not pool.raw


@pytest.mark.parametrize(
    "content_type",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=x; charset=utf-16",
        "multipart/mixed; boundary=x",
        "application/json; boundary=x",
        "multipart/form-data; boundary=" + "x" * 71,
        'multipart/form-data; boundary="x\t"',
    ],
)
def test_refuses_other_content_types(gateway: Any, pool: FormUpstream, content_type: str) -> None:
    assert upload(gateway, form(MODEL, FILE), content_type)[0] == 400
    assert not pool.raw


ACCEPTED = {
    "plain": form(MODEL, FILE, field(b'name="prompt"', b"hello")),
    "unquoted names (.NET)": form(
        field(b"name=model", b"inside"),
        field(b"name=file; filename=call.wav; filename*=utf-8''call.wav", AUDIO),
        field(b"name=prompt", b"hello"),
    ),
    "other case of headers": form(MODEL, FILE, b"content-disposition:form-data;NAME=prompt\r\n\r\nhello"),
    "escapes in a name": form(MODEL, FILE, field(b'name="pr\\"ompt"', b"x"), field(b'name="prompt"', b"hello")),
    "spaces after a boundary": form(MODEL, FILE, field(b'name="prompt"', b"hello")).replace(
        b"\r\n--x\r\n", b"\r\n--x \t\r\n"
    ),
    "binary encoding (Java)": form(MODEL, FILE, field(b'name="prompt"', b"hello", b"Content-Transfer-Encoding: 8bit")),
    "no line after the end": form(MODEL, FILE, field(b'name="prompt"', b"hello")).removesuffix(b"\r\n"),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_pool_reads_what_was_inspected(gateway: Any, pool: FormUpstream, name: str) -> None:
    assert upload(gateway, ACCEPTED[name])[0] == 200
    (got,) = pool.requests
    assert dict(got["fields"]) == dict([("model", "echo"), LIMIT, ("prompt", "hello"), ("file", ("call.wav", AUDIO))])
    assert len(got["fields"]) == 4
    assert "boundary=x" not in got["content-type"]


def test_fields_outside_the_table_are_removed_and_dangerous_ones_refused(gateway: Any, pool: FormUpstream) -> None:
    body = form(MODEL, FILE, field(b'name="made_up"', b"1"), field(b'name="a\\"; filename=\\"b"', b"2"))
    assert upload(gateway, body)[0] == 200
    assert [name for name, _ in pool.requests[0]["fields"]] == ["model", LIMIT[0], "file"]
    pool.forget()
    status, answer = upload(gateway, form(MODEL, FILE, field(b'name="vllm_xargs"', b"{}")))
    assert (status, answer["error"]["code"]) == (400, "field_not_allowed")
    assert not pool.raw


def test_lists_keep_their_items(gateway: Any, pool: FormUpstream) -> None:
    items = [field(b'name="timestamp_granularities[]"', value) for value in (b"word", b"segment")]
    assert upload(gateway, form(MODEL, FILE, *items))[0] == 200
    listed = [value for name, value in pool.requests[0]["fields"] if name == "timestamp_granularities[]"]
    assert listed == ["word", "segment"]


def test_file_names_cannot_add_fields(gateway: Any, pool: FormUpstream) -> None:
    name = rb"a\"; name=\"model\\"
    assert upload(gateway, form(MODEL, field(b'name="file"; filename="' + name + b'"', AUDIO)))[0] == 200
    fields = dict(pool.requests[0]["fields"])
    assert fields.keys() == {"model", LIMIT[0], "file"}
    assert fields["file"] == ("a_; name=_model_", AUDIO)


def test_text_fields_are_inspected(gateway: Any, pool: FormUpstream) -> None:
    assert upload(gateway, form(MODEL, FILE, field(b"NaMe=prompt", f"IBAN {IBAN}".encode())))[0] == 200
    assert audited(gateway)["entity_types"] == {"IBAN": 1}


# Pieces of odd bodies. Joined at random, most are refused; the others must be read alike.
_NAMES = st.sampled_from(
    [
        *(b'name="model"', b"name=model", b'NAME="model"', b'name="mod\\el"', b'name = "model"', b'name="file"'),
        *(b'name="file"; filename="a.wav"', b"name=file; filename=a.wav", b'filename="a.wav"; name="file"'),
        *(b'name="file"; filename="a\\"b.wav"', b"name=\"file\"; filename*=utf-8''b", b'name="file"; filename=""'),
        *(b'name="file"; filename="C:\\x\\a.wav"', b'name="prompt"', b'name="prompt"; name="model"', b"name='prompt'"),
        *(b'name="pro;mpt"', b'name="prompt', b'x="; name=model', b"name=", b"name", b'name="stream"', b'name="a[]"'),
        *(b'name="timestamp_granularities[]"', b'name="\xc3\xa9"', b'name="a\nb"', b'name="language"; x=\\"'),
    ]
)
_VALUES = st.sampled_from(
    [b"assistant", b"inside", b"", b"true", b"on", b"\r\n", b"--x", b"\r\n--x", b"\r\n--x-", b"\xff"]
)
_HEADERS = st.sampled_from(
    [
        *(b"", b"", b"", b"Content-Type: text/plain\r\n", b"X: y\r\n", b"content-disposition: form-data\r\n", b"X\r\n"),
        *(b"Content-Transfer-Encoding: base64\r\n", b" folded\r\n", b"X: y\nZ: z\r\n", b"X:\r\r\n"),
    ]
)
_ENDS = st.sampled_from([b"\r\n"] * 6 + [b"\n", b"\r", b" \r\n", b"--\r\n", b""])
_STARTS = st.sampled_from(
    [b"Content-Disposition: form-data; "] * 6 + [b"CONTENT-DISPOSITION:form-data;", b"Content-Disposition: "]
)
_ODD_PARTS = st.tuples(st.just(b"--x"), _ENDS, _HEADERS, _STARTS, _NAMES, st.just(b"\r\n\r\n"), _VALUES, _ENDS).map(
    b"".join
)
_PLAIN_PARTS = st.sampled_from([b"--x\r\n" + MODEL + b"\r\n", b"--x\r\n" + FILE + b"\r\n"])
_BODIES = st.one_of(
    st.tuples(
        st.lists(_ODD_PARTS | _PLAIN_PARTS, max_size=4).map(b"".join),
        st.sampled_from([b"--x--\r\n"] * 4 + [b"--x--", b"--x-", b"", b"--x--\r\nmore", b"\r\n--x--"]),
    ).map(b"".join),
    st.binary(max_size=60),
)
_TYPES = st.sampled_from(
    [TYPE, TYPE, TYPE, 'Multipart/Form-Data;boundary="x"', "multipart/form-data; x=y; boundary=x;"]
)


_ODD_FIELDS = st.builds(
    lambda start, name, headers, value: start + name + b"\r\n" + headers + b"\r\n" + value,
    *(_STARTS, _NAMES, _HEADERS, _VALUES),
)
_DATA = st.binary(max_size=12) | st.lists(st.sampled_from([b"\r", b"\n", b"--", b"x", b"-"]), max_size=9).map(b"".join)
_FILES = st.builds(
    lambda name, data: field(b'name="file"; filename=' + name, data),
    *(
        st.sampled_from([b'"a.wav"', b"a.wav", b'"a\\"b.wav"', b'"C:\\a.wav"', b'"\xc3\xa9"', b'"a;b"', b'"\xff"']),
        _DATA,
    ),
)
_TEXTS = st.builds(
    lambda name, data: field(name, data),
    *(st.sampled_from([b'name="prompt"', b"name=language", b'NAME="a[]"', b'name="seed"; x="y"']), _DATA),
)
_NEARLY_PLAIN = st.tuples(_FILES, st.lists(_TEXTS, max_size=3), st.lists(_ODD_FIELDS, max_size=1)).flatmap(
    lambda parts: st.permutations([MODEL, parts[0], *parts[1], *parts[2]]).map(lambda ordered: form(*ordered))
)


@examples(2000)
@given(_TYPES, _NEARLY_PLAIN | _BODIES | st.builds(lambda odd: form(MODEL, FILE)[:-7] + odd, _BODIES))
def test_odd_forms_are_read_alike_or_refused(content_type: str, body: bytes) -> None:
    headers = {"content-type": content_type}
    with contextlib.suppress(Refused):
        inspected = SURFACE.read(body, headers)
        SURFACE.check(inspected)
        sent = SURFACE.write(inspected, body, headers, model="echo")
        passed = SURFACE.passed_on(headers, sent)
        assert passed is not None
        read = asyncio.run(read_as_vllm(passed["content-type"], sent))
        files = [value for _, value in read if isinstance(value, tuple)]
        texts = [(name, value) for name, value in read if not isinstance(value, tuple)]
        assert [name for name, _ in files] == inspected["file"]
        expected: list[tuple[str, Any]] = [("model", "echo"), LIMIT]
        for name, value in inspected.items():
            if name not in ("model", "file"):
                expected += [(name, _written(each)) for each in (value if isinstance(value, list) else [value])]
        assert sorted(texts) == sorted(expected)
        original = asyncio.run(read_as_vllm(content_type, body))  # what vLLM would read without the gateway
        assert next(value for _, value in original if isinstance(value, tuple))[1] == files[0][1]
        for name, value in inspected.items():
            if name not in ("file", "stream"):
                assert [each for other, each in original if other == name] == (
                    value if isinstance(value, list) else [value]
                )


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
