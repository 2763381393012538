"""Texts in which nothing was found, remembered so that nobody looks again: system prompts, earlier turns of a chat.

A conversation sends its whole past with every turn. What held nothing a moment ago holds nothing now, as long as the
detector is the same; so a text is known by a digest, keyed anew in every process, and only clean texts are known.
Neither a text nor anything of it is kept.

    finder = CleanTexts(detector)
    finder.find(text)      # as the detector would
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence

from sovctl.gateway.detect.finding import Finding
from sovctl.gateway.inspection import Finder

_MOST_KNOWN = 65_536  # digests, about 8 MiB; what was not seen for longest goes first
_DIGEST_BYTES = 16


class CleanMemory:
    """Which texts are clean: `memory.key(text) in memory`."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)
        self._known: dict[bytes, None] = {}

    def key(self, text: str) -> bytes:
        """What a text is known by."""
        data = text.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, digest_size=_DIGEST_BYTES, key=self._secret).digest()

    def __contains__(self, key: bytes) -> bool:
        if key not in self._known:
            return False
        self._known.pop(key, None)  # to the end: what is seen often stays; another thread may have been quicker
        self._known[key] = None
        return True

    def add(self, key: bytes) -> None:
        """The text is clean."""
        if len(self._known) >= _MOST_KNOWN:
            self._known.pop(next(iter(self._known)), None)
        self._known[key] = None


class CleanTexts:
    """A finder that remembers where another one found nothing.

    Args:
        finder: deterministic; a changed one needs another memory.
    """

    def __init__(self, finder: Finder) -> None:
        self._finder = finder
        self._clean = CleanMemory()

    @property
    def rule_names(self) -> Sequence[str]:
        """The other finder's."""
        return self._finder.rule_names

    def find(self, text: str) -> list[Finding]:
        """Identifiers, sorted, none overlapping.

        Raises:
            Exception: what the other finder raises; nothing is remembered then.
        """
        key = self._clean.key(text)
        if key in self._clean:
            return []
        found = self._finder.find(text)
        if not found:
            self._clean.add(key)
        return found
