"""Replaces identifiers as the gateway does: its own inspection and its own tokens, in this process.

masker = Masker(make_detector(settings))
masker.replace("Write to anna@example.com")     # Replacement(intervals=[(9, 25)], entity_types=["EMAIL"])
"""

from __future__ import annotations

import secrets
import time
from typing import Any

from bench.judging.leaks import Interval, Replacement
from sovctl.gateway.detect.clean_text_cache import CachedFinder, Finder
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.inspection.inspector import Inspector
from sovctl.gateway.surfaces import SURFACES
from sovctl.gateway.tokenization.text import replace
from sovctl.gateway.tokens.search import find_tokens
from sovctl.gateway.tokens.token import TokenIssuer

_CHAT = SURFACES["/v1/chat/completions"]
_SPECIAL = EntityType.SPECIAL_CATEGORY


class Masker:
    """Tokenizes one text after the other, each as the only message of a request of its own."""

    def __init__(self, finder: Finder) -> None:
        self._finder = CachedFinder(finder)
        self._key = secrets.token_bytes(32)
        self.inspect_s: list[float] = []
        """Processor time of each inspection."""
        self.replace("warm-up")  # objects that are created on first use do not count
        self.inspect_s.clear()

    def replace(self, text: str) -> Replacement:
        """Return the replaced spans of `text`, under a policy that tokenizes every entity type.

        Raises:
            Exception: whatever the detector raises.
        """
        body: dict[str, Any] = {"model": "any", "messages": [{"role": "user", "content": text}]}
        inspector = Inspector(self._finder, _CHAT, max_depth=64)
        begun = time.process_time()
        inspection = inspector.inspect(body)
        self.inspect_s.append(time.process_time() - begun)
        content = [leaf for leaf in inspector.leaves.texts if leaf.path[-1] == "content" and leaf.text == text]
        # A text that is itself JSON is inspected string by string; here it is read as it stands.
        findings = inspector.findings(content[0]) if content else self._finder.find(text)
        issuer = TokenIssuer(self._key, tenant="bench", conversation=str(len(self.inspect_s)))
        tokenized, issued, _ = replace(text, findings, issuer)
        replacement = _aligned(tokenized, issued)
        found = inspection.found.items()
        categories = {rule: count for (entity_type, rule), count in found if entity_type is _SPECIAL}
        return Replacement(replacement.intervals, replacement.entity_types, categories)


def _aligned(tokenized: str, issued: dict[str, str]) -> Replacement:
    """Return the spans of the tokens in the original: between two tokens, both texts are the same."""
    intervals: list[Interval] = []
    entity_types: list[str] = []
    shift = 0  # original position less tokenized position
    for token in find_tokens(tokenized):
        if token.token not in issued:
            continue
        length = len(issued[token.token])
        if token.label != "TEXT":  # literals that look like tokens are not findings
            intervals.append((token.start + shift, token.start + shift + length))
            entity_types.append(str(token.label))
        shift += length - (token.end - token.start)
    return Replacement(intervals, entity_types)
