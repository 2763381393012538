"""Links in a text: the quick look that most texts get by with overlooks none."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.gateway.tokens.links.openers import OPENER, has_link_hint
from sovctl.gateway.tokens.links.regions import link_regions

_PIECES = ["http", "HTTPS", "ftps", "wss", "file", "data", "javascript", "www", "WWW"]
_PIECES += [":", ".", "/", "\\", "]", "(", " ", '"', "x", "Ü", "\n"]


@given(st.lists(st.sampled_from(_PIECES), max_size=12).map("".join))
def test_no_link_is_overlooked(text: str) -> None:
    assert has_link_hint(text) or OPENER.search(text) is None


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("at 10:30 it was 3/4, see [1] (note)", []),
        ("see FTP:x.test now", ["FTP:x.test"]),
        ("see [a](b.test) now", ["b.test)"]),
        ('in "//a b.test" and Www.c.test', ["//a b.test", "Www.c.test"]),
    ],
)
def test_a_link_begins_where_something_could_be_followed(text: str, links: list[str]) -> None:
    assert [text[start:end] for start, end in link_regions(text)] == links


@pytest.mark.parametrize("written", [str.lower, str.upper, str.title, str.swapcase])
@pytest.mark.parametrize(
    "opener",
    ["http:", "https:", "ftp:", "ftps:", "ws:", "wss:", "file:", "data:", "javascript:", "www.", "//", "\\\\"],
)
def test_every_opener_begins_a_link_in_any_case(opener: str, written: Callable[[str], str]) -> None:
    link = f"{written(opener)}a.test"
    for text, end in ((f"see {link} b", ""), (f"x{link}\nb", ""), (f'"{link} b" c', " b"), (f"<{link} b> c", " b")):
        assert [text[start:last] for start, last in link_regions(text)] == [link + end]
