"""Identifiers with a form of their own: rules in windows, secrets, phone numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sovctl.gateway.detect.candidates import Anchor, windows
from sovctl.gateway.detect.finding import Finding
from sovctl.gateway.detect.generic import IbanFinder, generic_rules
from sovctl.gateway.detect.judge import Rule, findings_in
from sovctl.gateway.detect.national import national_rules
from sovctl.gateway.detect.phones import PhoneFinder
from sovctl.gateway.detect.secrets import secret_spans
from sovctl.gateway.detect.view import View
from sovctl.gateway.kinds import Kind

_SECRET_SCORE = 0.9


class StructuredFinder:
    """Finds identifiers that have a form of their own.

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
    def rules(self) -> Sequence[str]:
        """Names of all rules."""
        return ["IBAN", "PHONE", "SECRETS", *(rule.name for rules in self._rules.values() for rule in rules)]

    def find(self, view: View, found: Sequence[Finding]) -> Iterable[Finding]:
        """Identifiers in `view`, possibly overlapping."""
        text = view.text
        mine: list[Finding] = list(self._by_rules(text))
        mine += (
            Finding(start, end, Kind.SECRET, _SECRET_SCORE, text[start:end], rule)
            for start, end, rule in secret_spans(text)
        )
        for window in windows(text, Anchor.DIGITS):
            if window.digits >= 7:  # the shortest phone number there is, ITU-T E.164
                mine += list(self._phones.find(text, window, [*found, *mine]))
        return mine

    def _by_rules(self, text: str) -> Iterator[Finding]:
        for anchor, rules in self._rules.items():
            for window in windows(text, anchor):
                if anchor is Anchor.DIGITS:
                    yield from self._ibans.find(text, window)
                for rule in rules:
                    yield from findings_in(text, window, rule)
