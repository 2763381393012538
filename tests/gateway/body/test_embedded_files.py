"""Files that hold text are opened and closed again exactly; nothing else is."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.body.embedded_files import unwrapped

_TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60)
_TYPES = st.sampled_from(["text/plain", "text/csv", "application/json", "text/markdown;charset=utf-8", "", "TEXT/CSV"])


def packed(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@examples(300)
@given(_TEXTS, _TEXTS, _TYPES, st.booleans())
def test_a_text_in_a_uri_is_read_and_another_put_in_its_place(old: str, new: str, kind: str, is_base64: bool) -> None:
    head = f"data:{kind}{';base64' if is_base64 else ''},"
    write = packed if is_base64 else quote
    found = unwrapped(head + write(old), None)
    assert found is not None
    text, wrapping = found
    assert text == old
    assert wrapping.wrap(new) == head + write(new)


@examples(200)
@given(_TEXTS)
def test_plain_base64_is_read_with_and_without_line_ends(text: str) -> None:
    lines = "\r\n".join(packed(text)[start : start + 16] for start in range(0, len(packed(text)), 16))
    for value in (packed(text), lines):
        found = unwrapped(value, None)
        assert found is not None
        assert found[0] == text


@examples(300)
@given(st.binary(max_size=60), st.sampled_from(["", "data:text/plain;base64,", "data:application/json;base64,"]))
def test_bytes_that_are_no_text_are_not_read(content: bytes, head: str) -> None:
    found = unwrapped(head + base64.b64encode(content).decode(), None)
    if found is not None:
        assert found[0].encode() == content
        assert not any(byte < 9 for byte in content)


@pytest.mark.parametrize(
    "value",
    [
        "data:image/png;base64," + packed("text after all"),
        "data:application/pdf;base64," + packed("%PDF-1.7"),
        "data:application/octet-stream;base64," + packed("text"),
        "data:text/plain;charset=utf-16;base64," + packed("text"),
        "data:text/plain;base64,%%%",
        "data:text/plain;base64," + base64.b64encode(b"\xff\xfe").decode(),
        "data:text/plain,",
        "no base64 at all!",
        "",
    ],
)
def test_what_is_no_text_stays_closed(value: str) -> None:
    assert unwrapped(value, None) is None


def test_a_media_type_is_believed_only_when_it_forbids() -> None:
    assert unwrapped(packed("a,b"), "text/csv") is not None
    assert unwrapped(packed("a,b"), "application/pdf") is None
    assert unwrapped(base64.b64encode(b"\x00\x01").decode(), "text/csv") is None


def test_tables_are_told_from_prose() -> None:
    for kind, is_prose in (("text/plain", True), ("text/csv", False), ("application/json", False)):
        found = unwrapped(f"data:{kind};base64,{packed('x')}", None)
        assert found is not None
        assert found[1].is_prose is is_prose
