"""Cache of texts without findings, so that system prompts and earlier turns of a chat are scanned once.

The cache holds a digest, keyed per process, of each text without findings, and the languages of that text. It holds
neither texts nor findings. It is valid because the same detector gives the same findings. Texts with findings are
remembered in `findings_memory`, by tenant.

    finder = CachedFinder(detector, memory).of("retail")      # the last part only with a memory of findings
    finder.find(text)           # as the detector would
    finder.scan(text)           # the same, and what is known of its languages and words
    finder.languages(text)      # as `detect.language` would
    finder.suspects(texts)      # which of many short ones may hold something; quick
    finder.are_clean(texts)     # none of them
"""

from __future__ import annotations

import hashlib
import secrets
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Protocol

from .findings.finding import Finding
from .findings_memory import FindingsMemory, TenantFindings
from .language.language import languages, languages_of
from .text.view import APART
from .text.words import Words

_MOST_KNOWN = 65_536  # digests, about 12 MiB; what was not seen for longest goes first
_DIGEST_BYTES = 16
_MOST_TOGETHER = 64  # texts; more are read in hardly less time


class Finder(Protocol):
    """Finds identifiers in one text: `detect.Detector`, or a failing finder of a test."""

    @property
    def rule_names(self) -> Sequence[str]:
        """Rules that a policy may name; called only if a policy names rules."""

    @property
    def is_cue(self) -> Callable[[str], bool]:
        """Whether a label, such as the key of a value, has a word that explains the value."""

    def find(self, text: str) -> list[Finding]:
        """Identifiers, sorted, none overlapping."""

    def scan(self, text: str) -> tuple[list[Finding], Words | None]:
        """Return the findings, and the words of the text if `languages_of` accepts them."""


class CleanTextCache:
    """Which texts are clean: `text in memory`.

    Python's own hash of a text, which is keyed as well, says quickly that it is not known; the digest says that it is.
    """

    def __init__(self) -> None:
        self._keyed = hashlib.blake2b(digest_size=_DIGEST_BYTES, key=secrets.token_bytes(32))
        self._known: dict[int, bytes] = {}
        self._spoken: dict[int, frozenset[str]] = {}

    def __contains__(self, text: str) -> bool:
        key = hash(text)
        known = self._known.get(key)
        if known is None or known != self._digest(text):
            return False
        # To the end: what is seen often stays; another thread may have been quicker.
        self._known[key] = self._known.pop(key, known)
        return True

    def add(self, text: str) -> None:
        """The text is clean."""
        key = hash(text)
        if len(self._known) >= _MOST_KNOWN and key not in self._known:
            oldest = next(iter(self._known))
            self._known.pop(oldest, None)
            self._spoken.pop(oldest, None)
        self._known[key] = self._digest(text)
        self._spoken.pop(key, None)

    def spoken(self, text: str) -> frozenset[str] | None:
        """Return the languages of a text that is in the cache; None if they are unknown."""
        return self._spoken.get(hash(text))

    def add_spoken(self, text: str, spoken: frozenset[str]) -> None:
        """Store the languages of a text that is in the cache."""
        self._spoken[hash(text)] = spoken

    def _digest(self, text: str) -> bytes:
        digest = self._keyed.copy()
        digest.update(text.encode("utf-8", "surrogatepass"))
        return digest.digest()


class CachedFinder:
    """A finder that remembers where another one found nothing, and with a memory also what it found.

    Args:
        finder: deterministic; a changed one needs another memory.
        memory: findings in texts of tenants; used by the finders that `of` returns.
    """

    def __init__(self, finder: Finder, memory: FindingsMemory | None = None) -> None:
        self._finder = finder
        self._clean = CleanTextCache()
        self._memory = memory
        self._known: TenantFindings | None = None

    @property
    def memory(self) -> TenantFindings | None:
        """The memory for one request; None without a memory."""
        return self._known

    def of(self, tenant: str, conversation: str = "") -> CachedFinder:
        """Return this finder for one request of a tenant; the memory of findings is that tenant's.

        Args:
            conversation: key of its conversation.
        """
        if self._memory is None:
            return self
        mine = object.__new__(CachedFinder)
        mine._finder, mine._clean, mine._memory = self._finder, self._clean, self._memory
        mine._known = self._memory.of(tenant, conversation)
        return mine

    def without_memory(self) -> CachedFinder:
        """Return this finder without the memory of findings."""
        if self._known is None:
            return self
        plain = object.__new__(CachedFinder)
        plain._finder, plain._clean, plain._memory, plain._known = self._finder, self._clean, None, None
        return plain

    @property
    def rule_names(self) -> Sequence[str]:
        """The other finder's."""
        return self._finder.rule_names

    @property
    def is_cue(self) -> Callable[[str], bool]:
        """The other finder's."""
        return self._finder.is_cue

    def find(self, text: str) -> list[Finding]:
        """Identifiers, sorted, none overlapping.

        Raises:
            Exception: what the other finder raises; nothing is remembered then.
        """
        return self.scan(text)[0]

    def scan(self, text: str) -> tuple[list[Finding], frozenset[str] | None, Words | None]:
        """Return the findings, the languages of the text if they are known, and its words if it was scanned.

        The languages of a text with findings are those of its other words.

        Raises:
            Exception: as `find`.
        """
        if text in self._clean:
            return [], self._clean.spoken(text), None
        if self._known is not None and (known := self._known.get(text)) is not None:
            return *known, None
        found, text_words = self._finder.scan(text)
        if not found:
            self._clean.add(text)
        elif self._known is not None:
            self._known.put(text, found)
        return found, None, text_words

    def add_languages(self, text: str, spoken: frozenset[str]) -> None:
        """Remember the languages of a text whose findings `scan` has returned."""
        if self._known is not None:
            self._known.add_languages(text, spoken)

    def are_clean(self, texts: Iterable[str]) -> bool:
        """Return whether none of these texts contains a finding; False if this is unknown.

        Raises:
            Exception: as `suspects`.
        """
        return not self.suspects(texts)

    def suspects(self, texts: Iterable[str]) -> list[str]:
        """Return the texts that may contain a finding, without duplicates. The other texts contain none.

        Those that are unknown are read as one, because much of a scan costs the same for a line and for a page. They
        stand farther apart than any rule looks, so that none of them hides what is in another.

        Raises:
            Exception: what the other finder raises; of those read together nothing is remembered then.
        """
        unknown = [text for text in dict.fromkeys(texts) if text not in self._clean]
        suspects: list[str] = []
        if (known := self._known) is not None:
            suspects = [text for text in unknown if text in known]
            unknown = [text for text in unknown if text not in known] if suspects else unknown
        for first in range(0, len(unknown), _MOST_TOGETHER):
            together = unknown[first : first + _MOST_TOGETHER]
            held = _holders(together, self._finder.scan(APART.join(together))[0])
            for index, text in enumerate(together):
                if index in held:
                    suspects.append(text)
                else:
                    self._clean.add(text)
        return suspects

    def languages(self, text: str, text_words: Words | None = None) -> frozenset[str]:
        """The languages of a text.

        Args:
            reading: from `scan`.
        """
        if text not in self._clean:
            return languages(text)
        spoken = self._clean.spoken(text)
        if spoken is None:
            spoken = _shared(languages_of(text_words.outside(())) if text_words else languages(text))
            self._clean.add_spoken(text, spoken)
        return spoken


def _holders(texts: Sequence[str], found: Iterable[Finding]) -> Container[int]:
    """Return the texts that contain findings of all of them together; all texts if a finding spans several."""
    begins = list(accumulate((len(text) + len(APART) for text in texts), initial=0))
    held: set[int] = set()
    for finding in found:
        index = bisect_right(begins, finding.start) - 1
        if finding.end > begins[index] + len(texts[index]):
            return range(len(texts))
        held.add(index)
    return held


@lru_cache(256)
def _shared(spoken: frozenset[str]) -> frozenset[str]:
    """Return one set object for equal sets of languages, because many texts have the same languages."""
    return spoken
