"""Text of HTML files, with the parser of the standard library. Scripts, styles and hidden elements are omitted."""

from __future__ import annotations

import itertools
import platform
import re
from html.parser import HTMLParser

from .blocks import Blocks
from .extracted import Extraction, Limits, Reason, Refused
from .plain_text import decoded

EXTRACTOR = f"html.parser {platform.python_version()}"

_OMITTED = frozenset({"script", "style", "template", "noscript", "svg", "math", "iframe", "object", "head", "select"})
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr")
)  # HTML Living Standard, 13.1.2
_INLINE = frozenset({"a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "dfn", "em", "font", "i", "kbd", "label"})
_INLINE |= {"mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var"}
_CELLS = frozenset({"td", "th"})
# Elements that a start tag ends if their end tag is missing (HTML Living Standard, 13.1.2.4); `p` ends at every block.
_ENDED_BY = {
    "li": frozenset({"li"}),
    "dt": frozenset({"dt", "dd"}),
    "dd": frozenset({"dt", "dd"}),
    "td": _CELLS,
    "th": _CELLS,
    "tr": _CELLS | {"tr"},
    "tbody": _CELLS | {"tr", "thead", "tbody"},
    "tfoot": _CELLS | {"tr", "thead", "tbody"},
}
_SCOPES = frozenset({"table", "ul", "ol", "dl", "body", "html", "div", "section", "article", "blockquote"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w-]{1,40})", re.IGNORECASE)
_WHITE = re.compile(r"\s+")


class _Collector(HTMLParser):
    def __init__(self, limits: Limits) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks = Blocks(limits)
        self._limits = limits
        self._open: list[tuple[str, bool]] = []  # elements, each with "this one is omitted"
        self._omitted = 0
        self._text: list[str] = []
        self._level = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            self._text.append("\n" if tag == "br" else " ")
            return
        if tag not in _INLINE:
            self._end_implied(_ENDED_BY.get(tag, frozenset()) | {"p"})
        if tag not in _INLINE | _CELLS:
            self.end_block()
            self._level = _HEADINGS.get(tag, 0)
        if tag in _CELLS:
            self._text.append("\t")
        given = dict(attrs)
        omitted = tag in _OMITTED or "hidden" in given or bool(_HIDDEN_STYLE.search(given.get("style") or ""))
        self._open.append((tag, omitted))
        self._omitted += omitted
        if len(self._open) > self._limits.depth:
            raise Refused(Reason.NESTING, f"expected at most {self._limits.depth} nested elements")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)  # HTML ignores the slash, except in SVG, which is omitted
        if tag not in _VOID and self._omitted:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        if tag not in _INLINE | _CELLS:
            self.end_block()
        if any(name == tag for name, _ in self._open):
            self._close_to(tag)

    def _end_implied(self, ended: frozenset[str]) -> None:
        """Close the outermost of these elements up to the next scope, with everything in it."""
        in_scope = itertools.takewhile(lambda name: name not in _SCOPES, [name for name, _ in reversed(self._open)])
        for name in [name for name in in_scope if name in ended]:
            self._close_to(name)

    def _close_to(self, tag: str) -> None:
        while self._open:
            name, omitted = self._open.pop()
            self._omitted -= omitted
            if name == tag:
                return

    def handle_data(self, data: str) -> None:
        if not self._omitted:
            self._text.append(_WHITE.sub(" ", data))

    def end_block(self) -> None:
        self.blocks.add("".join(self._text), level=self._level)
        self._text.clear()
        self._level = 0


def extract(content: bytes, limits: Limits) -> Extraction:
    """Return one block for each paragraph, heading or row of a table.

    Raises:
        Refused: the character set is unknown or wrong, or the nesting is above the limit.
    """
    declared = _CHARSET.search(content[:4096])
    collector = _Collector(limits)
    collector.feed(decoded(content, declared.group(1).decode() if declared else None))
    collector.close()
    collector.end_block()
    return Extraction(EXTRACTOR, collector.blocks.found)
