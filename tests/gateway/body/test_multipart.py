"""Forms are read where they stand: any content, any name, and never a field more or less."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.body.multipart import FormError, parse_form

TYPE = 'multipart/form-data; boundary="b0undary"'
_NAMES = st.text(st.characters(codec="utf-8", exclude_characters='"\\\r\n\x00'), min_size=1, max_size=8)
_PARTS = st.lists(st.tuples(_NAMES, st.none() | _NAMES, st.binary(max_size=40)), min_size=1, max_size=6)


def form(parts: list[tuple[str, str | None, bytes]], boundary: bytes = b"b0undary") -> bytes:
    pieces = []
    for name, filename, data in parts:
        disposition = f'Content-Disposition: form-data; name="{name}"'
        if filename is not None:
            disposition += f'; filename="{filename}"\r\nContent-Type: application/octet-stream'
        pieces.append(b"--" + boundary + b"\r\n" + disposition.encode() + b"\r\n\r\n" + data + b"\r\n")
    return b"".join(pieces) + b"--" + boundary + b"--\r\n"


@examples(300)
@given(_PARTS)
def test_every_field_is_found_with_its_bytes(parts: list[tuple[str, str | None, bytes]]) -> None:
    body = form(parts)
    found = parse_form(TYPE, body)
    assert [(p.name, p.filename, body[p.start : p.end]) for p in found.parts] == parts


@examples(200)
@given(_PARTS, st.text(max_size=10))
def test_a_field_is_changed_and_nothing_else(parts: list[tuple[str, str | None, bytes]], value: str) -> None:
    name = parts[0][0]
    changed = [(n, f, value.encode() if n == name else data) for n, f, data in parts]
    assert parse_form(TYPE, form(parts)).with_text(name, value) == form(changed)


def test_texts_and_files_are_told_apart() -> None:
    found = parse_form(
        "multipart/form-data; charset=utf-8; boundary=x",
        form([("a[]", None, b"1"), ("a[]", None, b"2"), ("a[]", None, b"3"), ("f", "é.wav", b"\xff")], b"x"),
    )
    assert found.texts == {"a[]": ["1", "2", "3"]}
    assert found.files["f"].filename == "é.wav"


@examples(300)
@given(st.binary(max_size=200))
def test_any_other_bytes_are_refused_or_read_without_an_accident(body: bytes) -> None:
    for each in (body, b"--b0undary" + body, b"--b0undary\r\n" + body):
        with contextlib.suppress(FormError):
            assert parse_form(TYPE, each).body == each


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", b"{}"),
        ("multipart/form-data", b"--x--"),
        (TYPE, b""),
        (TYPE, b"--b0undary\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b0undary--"),
        (TYPE, b"--b0undary\r\nContent-Type: text/plain\r\n\r\nx\r\n--b0undary--"),
        (TYPE, b'--b0undary\r\nContent-Disposition: form-data; name="a"\r\n\r\nx'),
        (TYPE, b'--b0undaryContent-Disposition: form-data; name="a"\r\n\r\nx\r\n--b0undary--'),
        (TYPE, form([("a", None, b"")] * 200)),
        (TYPE, b"--b0undary\r\n" + b"x" * 10_000 + b"\r\n\r\nx\r\n--b0undary--"),
    ],
)
def test_what_is_no_form_is_refused(content_type: str, body: bytes) -> None:
    with pytest.raises(FormError):
        parse_form(content_type, body)


def test_a_field_that_is_no_text_is_refused() -> None:
    with pytest.raises(FormError):
        _ = parse_form(TYPE, form([("a", None, b"\xff")])).texts
