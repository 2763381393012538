"""Remembers spans and tokens of texts of earlier turns, so that an unchanged text is not tokenized and scanned again.

The result of a text holds for the same findings, actions of policy, and context of tokens: key version, tenant,
conversation and generation, which an erasure increments. Only texts whose outgoing scan found nothing are remembered. A
record contains spans, tokens and masks, no text: see `detect.findings_memory`.

    earlier = EarlierTokens(memory, issuer)
    replaced = earlier.replace(text, findings, masks, escapes)    # None: it is to be replaced as if there was no memory
    earlier.note(text, findings, masks, escapes, spans)
    earlier.remember()                                            # after the outgoing scan
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..detect.findings.finding import Finding
from ..detect.findings_memory import TenantFindings
from ..tokens.token import TokenIssuer
from .text import Replaced, Spans, replace_again

_Kind = tuple[Any, ...]


class EarlierTokens:
    """Tokens of the texts of one conversation."""

    def __init__(self, memory: TenantFindings, issuer: TokenIssuer) -> None:
        self._memory = memory
        self._issuer = issuer
        self._context = hash(issuer.context)
        self._fresh: list[tuple[_Kind, str, Spans]] = []

    def replace(
        self, text: str, findings: Sequence[Finding], masks: Sequence[Finding], escapes: int
    ) -> Replaced | None:
        """Return the text as `text.replace` does; None if it is unknown."""
        spans = self._memory.spans(self._kind(findings, masks, escapes), text)
        return replace_again(text, spans, findings, self._issuer, escapes) if spans is not None else None

    def note(
        self, text: str, findings: Sequence[Finding], masks: Sequence[Finding], escapes: int, spans: Spans
    ) -> None:
        """Note a text that was replaced; `remember` follows if the outgoing scan finds nothing."""
        self._fresh.append((self._kind(findings, masks, escapes), text, spans))

    def remember(self) -> None:
        """Remember the noted texts."""
        if self._issuer.has_conflicts:
            return
        for kind, text, spans in self._fresh:
            self._memory.put_spans(kind, text, spans)

    def _kind(self, findings: Sequence[Finding], masks: Sequence[Finding], escapes: int) -> _Kind:
        return "tokens", self._context, escapes, (*findings,), (*masks,)
