"""Presidio, kept inside: its recognizers and validators, none of its reach for the network or the log.

Presidio imports tldextract, whose first call fetches a list from two hosts (measured 2026-11), and it logs candidate
texts at level ERROR. Importing its classes from here makes both impossible. Its `AnalyzerEngine` is not used: it runs
every recognizer over the whole text and skips a pattern that timed out, which would let text through unseen. The
recognizers' patterns and validators are what we take; `judge` runs them in bounded windows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import tldextract.tldextract as _tldextract
from presidio_analyzer import Pattern, PatternRecognizer

_tldextract.TLD_EXTRACTOR = _tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None, fallback_to_snapshot=True)

for _name in ("presidio-analyzer", "decision_process", "tldextract", "filelock"):
    _logger = logging.getLogger(_name)
    _logger.handlers = [logging.NullHandler()]
    _logger.propagate = False
    _logger.disabled = True


class CheckedRecognizer(PatternRecognizer):  # type: ignore[misc]  # presidio ships no types
    """A recognizer of our own: patterns, and one function that decides.

    Args:
        name: of the rule, such as `KZ_IIN`.
        patterns: regular expressions, tried in order.
        check: True when the candidate is genuine; None when its form alone is enough.
    """

    def __init__(self, name: str, patterns: Sequence[str], check: Callable[[str], bool] | None = None) -> None:
        score = 0.5 if check else 0.6
        super().__init__(
            supported_entity=name, name=name, patterns=[Pattern(name, pattern, score) for pattern in patterns]
        )
        self._check = check

    def validate_result(self, pattern_text: str) -> bool | None:
        """Presidio's hook: True and False settle it, None leaves the pattern's own score."""
        return None if self._check is None else self._check(pattern_text)


__all__ = ["CheckedRecognizer", "Pattern", "PatternRecognizer"]
