"""Decides, while an answer comes, whether a value may be restored at the end of the text so far."""

from __future__ import annotations

import re
from collections.abc import Collection

from ...domain.entities import EntityType, Mark
from .escapes import begun_escape, has_escapes, unescaped
from .glued_hosts import FOLLOWING, is_glued
from .reading import Reading

LOOKAHEAD = 256
"""Characters after a token that may decide about it."""
_FOLLOWING_DEFINED = re.compile(r"[^\s]*[ \t]*\Z")


class LinkContext:
    """Tracks whether the text so far ends in a URL, as written or with its escapes undone."""

    def __init__(self, hosts: Collection[str] = ()) -> None:
        self._hosts = hosts
        self._plain = Reading(hosts)
        self._undone: Reading | None = None  # reads with escapes undone, from the first escape on
        self._begun = ""  # an incomplete escape

    def feed(self, text: str) -> None:
        """Add plain text."""
        if self._undone is not None or has_escapes(text):
            self._feed_undone(text)
        self._plain.feed(text)

    def may_restore(self, label: EntityType | Mark, value: str, following: str) -> bool:
        """Return whether a token may be restored at this position.

        Args:
            following: the text after it, at most `LOOKAHEAD` characters.
        """
        if has_escapes(following):
            following = unescaped(following)
        if is_glued(following):
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
        return (_FOLLOWING_DEFINED if is_defined else FOLLOWING).match(following) is not None

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
        end = begun_escape(text)
        self._begun = text[end:]
        self._undone.feed(unescaped(text[:end]))

    def _reset(self) -> None:
        self._plain, self._undone, self._begun = Reading(self._hosts), None, ""
