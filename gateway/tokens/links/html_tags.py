"""Tracks whether a position of an answer may be inside an HTML attribute that holds a URL.

Every `<` before a letter may begin a tag, unless a renderer reads it as text (markdown's code, an escaped `<`, the
value of another attribute). Therefore each one is followed separately, by the states of the HTML tokenizer, and a
position is inside a URL if it is for one of them. A tag that is never closed goes on to the end of the answer, as in a
browser.

Attributes of `TEXT_ATTRIBUTES` hold text. Values of all others count as URLs: also `style`, `content`, `srcdoc`, and
attributes of scripts' libraries, which load what they contain.

Source: WHATWG HTML, 13.2.5 (tokenization; read 2026-11).
"""

from __future__ import annotations

import re
from enum import IntEnum, auto
from typing import NamedTuple

TEXT_ATTRIBUTES = frozenset(
    {"title", "alt", "label", "placeholder", "summary", "abbr", "aria-label", "aria-description"}
)
_MAX_NAME = 20  # characters; longer than any of them
_MAX_OPEN = 16  # different states; more do not occur in practice, and then nothing is restored
KEPT = 64  # characters of earlier text

_BEGIN = re.compile("<[A-Za-z]")
_SPACE = "\t\n\f\r "
_TAG_END = re.compile("[\t\n\f\r />]")
_NAME_END = re.compile("[\t\n\f\r />=]")
_UNQUOTED_END = re.compile("[\t\n\f\r >]")
# A `>` that begins a line may be markdown's mark of a quotation, which renderers remove.
_QUOTATION = re.compile(r"(?:\A|\n)[ \t>]*\Z")


class _State(IntEnum):
    TAG_NAME = auto()
    BEFORE_NAME = auto()
    NAME = auto()
    AFTER_NAME = auto()
    BEFORE_VALUE = auto()
    DOUBLE_QUOTED = auto()
    SINGLE_QUOTED = auto()
    UNQUOTED = auto()


_VALUES = frozenset({_State.BEFORE_VALUE, _State.DOUBLE_QUOTED, _State.SINGLE_QUOTED, _State.UNQUOTED})
_QUOTES = {_State.DOUBLE_QUOTED: '"', _State.SINGLE_QUOTED: "'"}


class _Tag(NamedTuple):
    state: _State
    name: str
    """The part of the name of the attribute that was read; in a value, empty if the attribute holds text."""
    start: int
    """Of the value, in the whole text."""

    @property
    def is_url(self) -> bool:
        return bool(self.name) and self.state in _VALUES


class HtmlTags:
    """Tags of a text that comes in chunks of any size."""

    def __init__(self) -> None:
        self._open: tuple[_Tag, ...] = ()
        self._is_lost = False  # too many tags are open
        self._at = 0
        self.last = ""
        """The last `KEPT` characters."""
        self.regions: list[tuple[int, int]] = []
        """Spans of complete values that may be URLs, in the whole text."""

    def copy(self) -> HtmlTags:
        """Return a copy without regions."""
        other = HtmlTags()
        other._open, other._is_lost, other._at, other.last = self._open, self._is_lost, self._at, self.last
        return other

    @property
    def is_in_url(self) -> bool:
        """The text so far ends in a value that may be a URL."""
        return self._is_lost or any(tag.is_url for tag in self._open)

    @property
    def is_at_start(self) -> bool:
        """No character of these values has been read."""
        return not self._is_lost and all(tag.start == self._at for tag in self._open if tag.is_url)

    def begins_at(self, position: int) -> bool:
        """Return whether all these values begin at `position`."""
        return not self._is_lost and all(tag.start == position for tag in self._open if tag.is_url)

    def feed(self, text: str) -> None:
        """Add text."""
        if "<" in text or self._open or self.last[-1:] == "<":
            self._read(text)
        self._at += len(text)
        self.last = text[-KEPT:] if len(text) >= KEPT else (self.last + text)[-KEPT:]

    def close(self) -> None:
        """End the text."""
        self.regions += [(tag.start, self._at) for tag in self._open if tag.is_url]

    def _read(self, text: str) -> None:
        kept = len(self.last)
        text = self.last + text
        moved = self._at - kept
        position = kept
        for match in _BEGIN.finditer(text, max(0, kept - 1)):
            begin = max(match.start(), kept)
            self._advance(text, position, begin, moved)
            self._add(_Tag(_State.TAG_NAME, "", 0))
            position = begin
        self._advance(text, position, len(text), moved)

    def _add(self, tag: _Tag) -> None:
        if tag not in self._open:
            self._open = (*self._open, tag)
            self._is_lost = self._is_lost or len(self._open) > _MAX_OPEN
            if self._is_lost:
                self._open = ()

    def _advance(self, text: str, start: int, end: int, moved: int) -> None:
        if not self._open or self._is_lost:
            return
        tags = [self._moved(tag, text, start, end, moved) for tag in self._open]
        self._open = tuple(dict.fromkeys(tag for tag in tags if tag is not None))

    def _moved(self, tag: _Tag, text: str, at: int, end: int, moved: int) -> _Tag | None:
        """Return the tag after `text[at:end]`; None if it is closed."""
        state, name, start = tag
        while at < end:
            if state is _State.DOUBLE_QUOTED or state is _State.SINGLE_QUOTED:
                found = text.find(_QUOTES[state], at, end)
                if found < 0:
                    break
                if name:
                    self.regions.append((start, moved + found))
                state, name, at = _State.BEFORE_NAME, "", found + 1
                continue
            if state is _State.TAG_NAME or state is _State.NAME or state is _State.UNQUOTED:
                pattern = _NAME_END if state is _State.NAME else _TAG_END if state is _State.TAG_NAME else _UNQUOTED_END
                match = pattern.search(text, at, end)
                if state is _State.NAME and len(name) < _MAX_NAME:
                    name = (name + text[at : match.start() if match else end])[:_MAX_NAME]
                if state is _State.TAG_NAME and ":" in text[at : match.start() if match else end]:
                    return None  # `<https:`; no element of HTML, so it loads nothing but a `style`, see `links`
                if match is None:
                    break
                at = match.start()
                if state is _State.UNQUOTED and name:
                    self.regions.append((start, moved + at))
            character = text[at]
            at += 1
            if character == ">" and not _QUOTATION.search(text, max(0, at - KEPT), at - 1):
                return None
            if state is _State.BEFORE_VALUE:
                if character in _SPACE or character == ">":
                    start = moved + at
                elif character in "\"'":
                    state = _State.DOUBLE_QUOTED if character == '"' else _State.SINGLE_QUOTED
                    start = moved + at
                else:
                    state, start = _State.UNQUOTED, moved + at - 1
            elif character in _SPACE or character == ">":
                state = _State.AFTER_NAME if state in (_State.NAME, _State.AFTER_NAME) else _State.BEFORE_NAME
                name = name if state is _State.AFTER_NAME else ""
            elif character == "/":
                state, name = _State.BEFORE_NAME, ""
            elif character == "=" and state in (_State.NAME, _State.AFTER_NAME):
                name = "" if name.lower() in TEXT_ATTRIBUTES else name or "="
                state, start = _State.BEFORE_VALUE, moved + at
            else:
                state, name = _State.NAME, character
        if state not in _VALUES or not name:
            start = 0
        return _Tag(state, name if state not in _VALUES else name and "=", start)
