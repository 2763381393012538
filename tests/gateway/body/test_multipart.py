"""Forms are parsed part by part, and written again so that every parser reads the same fields."""

from __future__ import annotations

import contextlib
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.body.multipart import FormError, content_type_of, parse_form, write_form

TYPE = 'multipart/form-data; boundary="b0undary"'
_NAMES = st.from_regex(r"[a-z][a-z_]{0,10}(\[\])?", fullmatch=True)
_FILE_NAMES = st.text(st.characters(codec="utf-8", exclude_characters='"\\', exclude_categories=["Cc"]), min_size=1)
_FIELDS = st.lists(st.tuples(_NAMES, st.text()), max_size=6)
_FILES = st.lists(st.tuples(_NAMES, _FILE_NAMES, st.binary(max_size=40)), max_size=3)


def form(parts: list[tuple[str, str | None, bytes]], boundary: bytes = b"b0undary") -> bytes:
    pieces = []
    for name, filename, data in parts:
        disposition = f'Content-Disposition: form-data; name="{name}"'
        if filename is not None:
            disposition += f'; filename="{filename}"\r\nContent-Type: application/octet-stream'
        pieces.append(b"--" + boundary + b"\r\n" + disposition.encode() + b"\r\n\r\n" + data + b"\r\n")
    return b"".join(pieces) + b"--" + boundary + b"--\r\n"


@examples(300)
@given(_FIELDS, _FILES)
def test_every_part_is_read_with_its_bytes(fields: list[tuple[str, str]], files: list[tuple[str, str, bytes]]) -> None:
    parts = [(name, None, value.encode()) for name, value in fields]
    if b"\r\n--b0undary" in b"".join(data for _, _, data in files) + b"".join(value for _, _, value in parts):
        return
    if not parts and not files:
        return
    found = parse_form(TYPE, form([*parts, *files]))
    assert list(found.fields) == fields
    assert [(file.field, file.name, bytes(file.content)) for file in found.files] == [
        (field, name[-255:], data) for field, name, data in files
    ]


@examples(300)
@given(_FIELDS.filter(bool), _FILES)
def test_a_written_form_has_the_same_parts(fields: list[tuple[str, str]], files: list[tuple[str, str, bytes]]) -> None:
    found = parse_form(TYPE, form([*((name, None, b"x") for name, _ in fields), *files]))
    written = write_form(fields, found.files)
    again = parse_form(content_type_of(written), written)
    assert list(again.fields) == fields
    assert again.files == found.files


@examples(300)
@given(st.binary(max_size=200))
def test_any_other_bytes_are_refused(body: bytes) -> None:
    for each in (body, b"--b0undary" + body, b"--b0undary\r\n" + body):
        with contextlib.suppress(FormError):
            parse_form(TYPE, each)
            assert each.startswith(b"--b0undary\r\n")
            assert each.rstrip(b"\r\n").endswith(b"\r\n--b0undary--")


@pytest.mark.parametrize("name", ["", 'a"', "a\r\nb", "a;b", "a\\", "é", "a" * 200])
def test_a_name_that_needs_escapes_is_not_written(name: str) -> None:
    with pytest.raises(FormError):
        write_form([(name, "x")], ())


def test_contents_are_not_copied() -> None:
    body = form([("file", "a.wav", b"abc")])
    assert parse_form(TYPE, body).files[0].content.obj is body


def test_the_parser_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), pytest.raises(FormError):
        parse_form(TYPE, b"--b0undary\r\nAnna Kowalska: x\r\n\r\n\r\n--b0undary--")
    assert not caplog.records


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
        (TYPE, form([("a", None, b"\xff")])),
        (TYPE, b"--b0undary\r\n" + b"x" * 10_000 + b"\r\n\r\nx\r\n--b0undary--"),
    ],
)
def test_what_is_no_form_is_refused(content_type: str, body: bytes) -> None:
    with pytest.raises(FormError):
        parse_form(content_type, body)
