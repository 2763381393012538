"""No URL of a rendered answer contains a restored value.

The oracle is independent of the gateway's rules: markdown-it (CommonMark with HTML; and with linkify) renders the
restored answer, and an HTML parser reads every URL of the result.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from examples import examples
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.tokens.restore import Issued, RestoreBounds, Restorer
from sovctl.gateway.tokens.token import TokenIssuer

_ISSUER = TokenIssuer(bytes(32), tenant="t", conversation="c")
_VALUES = {
    EntityType.IBAN: "QZ89370400440532013000",
    EntityType.PERSON: "Zyxwana Kqjlska",
    EntityType.EMAIL: "zyx.kq@bank.example",
    EntityType.NATIONAL_ID: "44051401359",
}
ISSUED = {_ISSUER.token(label, value, value): value for label, value in _VALUES.items()}
IBAN, PERSON, EMAIL, NUMBER = ISSUED
_SECRETS = ("qz89370400440532013000", "zyxwana", "kqjlska", "zyx.kq@", "44051401359")
_HOST = "crm.bank.example"

_STRICT = MarkdownIt("commonmark", {"html": True}).enable("table")
_LINKED = MarkdownIt("js-default", {"html": True, "linkify": True})
_LINKED.linkify.set({"fuzzy_ip": True, "fuzzy_link": True, "fuzzy_email": True})

_CSS_URL = re.compile(r"(?:url\(|image-set\()[^)]*|@import[^;]*", re.IGNORECASE)
_URL_ATTRIBUTES = frozenset(
    [
        "href",
        "src",
        "srcset",
        "action",
        "formaction",
        "poster",
        "data",
        "background",
        "cite",
        "longdesc",
        "ping",
        "manifest",
        "content",
        "style",
        "srcdoc",
        "xlink:href",
        "imagesrcset",
        "to",
        "values",
        "from",
        "by",
        "profile",
        "codebase",
    ]
)


class _Urls(HTMLParser):
    CDATA_CONTENT_ELEMENTS = ("style", "script")

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._is_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._is_style = tag == "style"
        self.found += [value for name, value in attrs if name in _URL_ATTRIBUTES and value]

    def handle_data(self, data: str) -> None:
        if self._is_style:
            self.found += _CSS_URL.findall(re.sub(r"\\([0-9a-fA-F]{1,6})\s?", _css_character, data))


def _css_character(escape: re.Match[str]) -> str:
    return chr(min(int(escape.group(1), 16), 0x10FFFF))


def urls(answer: str) -> list[str]:
    """Return every URL that a renderer of `answer` would make."""
    found: list[str] = []
    for document in (_STRICT.render(answer), _LINKED.render(answer), answer):
        document = document.replace("<![", "<[")  # not read by the parser; a comment to browsers
        parser = _Urls()
        parser.feed(document + " ")
        parser.close()
        found += parser.found
    return found


def disclosed(answer: str) -> list[str]:
    """Return the rendered URLs with a restored value; except the address that a value is."""
    return [
        url
        for url in urls(answer)
        if any(secret in unquote(re.sub(r"[\t\r\n]", "", url)).casefold() for secret in _SECRETS)
        and not _is_own_address(url)
        and not url.lower().startswith(f"https://{_HOST}/")
    ]


def _is_own_address(url: str) -> bool:
    """Return whether a URL leads to the server that the value itself names.

    Or is an address with a quote, which only linkify-it takes for one (`mailto:a"b@c.example`).
    """
    return url.endswith("zyx.kq@bank.example") or (url.startswith("mailto:") and '"' in unquote(url))


def restored(answer: str, pieces: list[str] | None = None, hosts: frozenset[str] = frozenset()) -> str:
    restorer = Restorer(Issued(ISSUED, RestoreBounds(link_hosts=hosts)))
    return "".join(map(restorer.feed, [answer] if pieces is None else pieces)) + restorer.flush()


_FRAGMENTS = st.sampled_from(
    [
        *("![x](", "[a](", "[a]: ", "[r]:\n", "![x][r]", "](", "(", ")", "[", "]", "]:", "!["),
        *("<", ">", "</", "/>", "<a href=", '<img src="', "<img src='", "<img\n> src=", "<td ", "<br>", "<p>", "<div "),
        *("href=", 'title="', "srcset=", "style=", 'style="background:url(', "<style>", "</style>", "url(", "@import "),
        *('<meta http-equiv=refresh content="0;url=', "<form action=", "<svg><a xlink:href=", "<base href=", "="),
        *('"', "'", "`", "```\n", "~~~\n", "\\", "|", "*", "**", "-", "_", "#", "?", "&", ";", ",", ".", ":", "@"),
        *(" ", " ", "\n", "\n\n", "\t", "\n> ", "> ", "- ", "\n    ", "1. ", "\u00a0", "\u200b", "\x00", "\x0b"),
        *("/", "//", "/\\", "\\\\", "https:", "https://", "http:", "HTTPS:", "javascript:", "data:", "mailto:", "www."),
        *("https&colon;", "&sol;", "&#x2f;", "&#47", "&Tab;", "&NewLine;", "&period;", "&quot;", "&lt;", "&commat;"),
        *(
            "evil.example",
            "evil.com",
            ".evil.com",
            "evil.com/?q=",
            "evil.com?q=",
            "evil.com:",
            "?q=",
            "@evil.com",
            "80",
        ),
        *("203.0.113.9/", "x", "word", "Dear", "é", "的", f"https://{_HOST}/", f"https://{_HOST}/?q=", f"//{_HOST}/"),
    ]
)
_ANSWERS = st.lists(st.one_of(_FRAGMENTS, _FRAGMENTS, _FRAGMENTS, st.sampled_from(list(ISSUED))), max_size=16).map(
    "".join
)


@examples(6000)
@given(st.data(), _ANSWERS, st.booleans())
def test_no_rendered_url_contains_a_restored_value(data: st.DataObject, answer: str, is_host_allowed: bool) -> None:
    hosts = frozenset({_HOST}) if is_host_allowed else frozenset()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(answer)), max_size=8)))
    pieces = [answer[a:b] for a, b in zip([0, *cuts], [*cuts, len(answer)], strict=True)]
    whole = restored(answer, hosts=hosts)
    assert restored(answer, pieces, hosts) == whole
    assert not disclosed(whole)
