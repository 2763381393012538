"""The detector: text in, findings out. Deterministic, in memory, and it raises rather than skips.

    detector = Detector(phone_regions=["DE", "GB"])
    detector.find("IBAN DE89 3704 0044 0532 0130 00")
    # [Finding(start=5, end=32, kind=Kind.IBAN, score=1.0, rule="IBAN")]

Whoever catches what it raises must treat the text as full of identifiers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sovctl.gateway.detect.candidates import Anchor, windows
from sovctl.gateway.detect.finding import Finding, resolve
from sovctl.gateway.detect.generic import IbanFinder, generic_rules
from sovctl.gateway.detect.judge import Rule, findings_in
from sovctl.gateway.detect.names import find_names
from sovctl.gateway.detect.national import national_rules
from sovctl.gateway.detect.phones import PhoneFinder
from sovctl.gateway.detect.secrets import secret_spans
from sovctl.gateway.detect.view import view_of
from sovctl.gateway.kinds import Kind

_SECRET_SCORE = 0.9


class Detector:
    """Finds identifiers in one text at a time.

    Args:
        phone_regions: ISO 3166-1 countries whose national phone formats count.
    """

    def __init__(self, *, phone_regions: Sequence[str]) -> None:
        self._rules: dict[Anchor, list[Rule]] = {anchor: [] for anchor in (Anchor.AT, Anchor.DIGITS, Anchor.COLONS)}
        for rule in [*generic_rules(), *national_rules()]:
            self._rules[rule.anchor].append(rule)
        self._ibans = IbanFinder()
        self._phones = PhoneFinder(phone_regions)

    @property
    def rule_names(self) -> list[str]:
        """Names of all rules, sorted."""
        own = {"IBAN", "PHONE", "NAMES_EN", "SECRETS"}
        return sorted(own | {rule.name for rules in self._rules.values() for rule in rules})

    def find(self, text: str) -> list[Finding]:
        """Identifiers in `text`, sorted by start, none overlapping; spans are those of `text` as given."""
        view = view_of(text)
        found = resolve(self._candidates(view.text))
        if view.starts is None:
            return found
        spans = [view.span(f.start, f.end) for f in found]
        return [
            Finding(start, end, f.kind, f.score, f.value, f.rule) for (start, end), f in zip(spans, found, strict=True)
        ]

    def _candidates(self, text: str) -> list[Finding]:
        found: list[Finding] = list(self._structured(text))
        found += (
            Finding(start, end, Kind.SECRET, _SECRET_SCORE, text[start:end], rule)
            for start, end, rule in secret_spans(text)
        )
        for window in windows(text, Anchor.DIGITS):
            if window.digits >= 7:  # the shortest phone number there is, ITU-T E.164
                found += list(self._phones.find(text, window, found))
        found += find_names(text)
        return found

    def _structured(self, text: str) -> Iterator[Finding]:
        for anchor, rules in self._rules.items():
            for window in windows(text, anchor):
                if anchor is Anchor.DIGITS:
                    yield from self._ibans.find(text, window)
                for rule in rules:
                    yield from findings_in(text, window, rule)
