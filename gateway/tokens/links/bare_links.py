"""Links without HTML: bare ones, destinations of markdown, addresses in CSS.

links = BareLinks()
links.feed("see https://a.te")
links.is_in_link                     # True
"""

from __future__ import annotations

import re
from collections.abc import Collection

from ...domain.entities import EntityType, Mark
from .destinations import DESTINATION_END, LINE_END, destination_start
from .openers import MAX_OPENER, TARGET, first_opener, has_link_hint

_BARE_END = re.compile("[\t-\r <]")  # GFM ends an address there; linkify-it at more characters
_AFTER_QUOTE = re.compile(r"[\s,:;.}\])<>]")
_PARENTHESIS, _STATEMENT_END = re.compile(r"\)"), re.compile("[;}]")
_CSS_END = {"url(": _PARENTHESIS, "image-set(": _STATEMENT_END, "@import": _STATEMENT_END}
_HOST = re.compile(r"https://([a-z0-9.-]{1,253})(?::[0-9]{1,5})?[/?#][a-z0-9._~%=&+:@/?#-]*\Z", re.IGNORECASE)
_MAX_HOST = 2048  # characters of a link to an allowed host
_QUOTED_END = {'"': re.compile('"'), "'": re.compile("'"), "<": re.compile(">")}
_QUOTED_HOST = re.compile(r"([\"'])[\w.@%-]{1,64}\Z")
_OPENINGS: dict[re.Pattern[str], dict[str, re.Pattern[str]]] = {
    DESTINATION_END: {"<": LINE_END},
    _PARENTHESIS: {quote: _QUOTED_END[quote] for quote in "\"'"},
    _STATEMENT_END: {},
}


class BareLinks:
    """Links of a text that comes in chunks of any size.

    Args:
        hosts: hosts whose links may contain values.
    """

    def __init__(self, hosts: Collection[str] = ()) -> None:
        self.hosts = hosts
        self._link = ""  # beginning of the current link; only stored if hosts are allowed
        self._end: re.Pattern[str] | None = None  # end of the current link; None outside of links
        self._is_bare_target = False  # directly after `](` or `url(`
        self._awaits_first = False  # only white space since then
        self._is_after_quote = False  # directly after the quote that ends a link
        self._tail = ""  # last characters outside of links: a link's beginning may be split over two chunks
        self._at = 0
        self.opened_at = 0
        """Where the last link began, in the whole text."""
        self.regions: list[tuple[int, int]] = []
        """Spans of complete links in the whole text."""

    def copy(self) -> BareLinks:
        """Return a copy without regions."""
        other = BareLinks(self.hosts)
        other._link, other._end, other._tail = self._link, self._end, self._tail
        other._is_bare_target, other._awaits_first = self._is_bare_target, self._awaits_first
        other._is_after_quote = self._is_after_quote
        other._at, other.opened_at = self._at, self.opened_at
        return other

    def feed(self, text: str) -> None:
        """Add text."""
        if self._end is None and not has_link_hint(seen := self._tail + text):
            self._tail = seen[-MAX_OPENER:]
            self._at += len(text)
            return
        position = 0
        while position < len(text):
            position = self._enter(text, position) if self._end is None else self._leave(text, position)

    def close(self) -> None:
        """End the text, and with it an open link."""
        if self._end is not None:
            self._add_region(self._at)
            self._end = None

    @property
    def is_in_link(self) -> bool:
        """The text so far ends in a link."""
        return self._end is not None

    @property
    def is_bare_target(self) -> bool:
        """The text so far ends where a destination begins."""
        return self._is_bare_target

    @property
    def is_allowed(self) -> bool:
        """The text ends outside of links, or in a link that certainly leads to an allowed host."""
        if self._end is None:
            return True
        host = _HOST.match(self._link) if len(self._link) < _MAX_HOST else None
        return host is not None and host.group(1).lower() in self.hosts

    def restored(self, label: EntityType | Mark, value: str) -> None:
        """Record that a value replaced a token."""
        if label is Mark.URL and self._end is None:
            self._end = _QUOTED_END.get(self._tail[-1:], _BARE_END)  # text directly after a link belongs to it
            self.opened_at = self._at
        self._tail = value[-MAX_OPENER:]
        self._at += len(value)
        self._is_bare_target = self._awaits_first = self._is_after_quote = False

    def _add_region(self, end: int) -> None:
        if end > self.opened_at:
            self.regions.append((self.opened_at, end))

    def _enter(self, text: str, position: int) -> int:
        """Read until a link begins; return the position after the text read."""
        tail = self._tail
        match = first_opener(tail + text[position : position + MAX_OPENER], 0) if tail else None
        if match is not None and match.start() < len(tail):
            start, end = position + match.start() - len(tail), position + match.end() - len(tail)
            before = match.string[: match.start()]
        elif (match := first_opener(text, position, tail)) is not None:
            start, end = match.span()
            before = tail + text[position:start]
        else:
            self._tail = (tail + text[position:])[-MAX_OPENER:]
            self._at += len(text) - position
            return len(text)
        opener = match.group()
        css_end = _CSS_END.get(opener.lower())
        self._is_bare_target = self._awaits_first = opener == TARGET or css_end is not None
        self._link = ""
        if css_end is not None:
            self._end = css_end
        elif self._is_bare_target:
            self._end = DESTINATION_END
        elif opener[0] == "<":
            self._end, start = _QUOTED_END["<"], start + 1
        elif opener[0] == ".":  # the link began before, and its host contains no value
            quote = _QUOTED_HOST.search(before)
            self._end, start = (_QUOTED_END[quote.group(1)] if quote else _BARE_END), end
        else:
            self._end, self._link = _QUOTED_END.get(before[-1:], _BARE_END), opener
        self.opened_at = self._at + (end if self._is_bare_target else start) - position
        self._at += end - position
        self._tail = ""
        return end

    def _leave(self, text: str, position: int) -> int:
        """Read until the link ends; return the position after the text read."""
        assert self._end is not None
        if self._is_after_quote:
            self._is_after_quote = False
            if _AFTER_QUOTE.match(text, position):
                self._end = None
                self._tail = ""
                return position
            self._end, self.opened_at, self._link = _BARE_END, self._at, ""
        if self._awaits_first:
            start = destination_start(text, position)
            self._at += start - position
            self.opened_at, position = self._at, start
            if position == len(text):
                return position
            self._awaits_first = False
            opening = _OPENINGS[self._end].get(text[position])
            if opening is not None:
                self._end = opening
                self._at += 1
                self.opened_at = self._at
                return position + 1
        self._is_bare_target = False
        match = self._end.search(text, position)
        end = match.start() if match is not None else len(text)
        if self.hosts and len(self._link) < _MAX_HOST:
            self._link += text[position : min(end, position + _MAX_HOST)]
        if match is None:
            self._at += len(text) - position
            return len(text)
        self._at += end - position
        self._add_region(self._at)
        self._at += match.end() - end
        # The character that ends a bare link may be the opening quote of the next one; a closing quote may not.
        self._tail = match.group() if self._end is _BARE_END else ""
        if match.group() in ('"', "'"):
            self._is_after_quote = True  # some renderers end a link at a quote, others do not
        else:
            self._end = None
        return match.end()
