"""Phone numbers: Google's metadata by way of `phonenumbers`, which Presidio's recognizer wraps as well.

Parsing is the dearest step of all detection (54-59 % of Presidio's time, measured 2026-11), so it only sees digit
groups that no checksum has claimed, for the site's own regions. A bare run of digits after "order" or "invoice" is
not a phone number; one with a plus sign always may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import phonenumbers

from sovctl.gateway.detect.candidates import Window
from sovctl.gateway.detect.finding import Finding
from sovctl.gateway.detect.judge import NOT_PERSONAL
from sovctl.gateway.kinds import Kind

# 7 to 15 digits (ITU-T E.164, 6.1) with what people put between them.
_CANDIDATE = re.compile(r"(?<![\w.,/@])(?:\+|\()?[0-9](?:[ ().\-/\u2011]{0,3}[0-9]){6,16}(?![\w@]|[.,][0-9])")
_DATE = re.compile(r"\A(?:[12][0-9]{3}[-./][01]?[0-9][-./][0-3]?[0-9]|[0-3]?[0-9][-./][01]?[0-9][-./][12][0-9]{3})\b")
_NEAR_BEFORE = 48  # characters, as for the other rules
_SCORE_INTERNATIONAL, _SCORE_NATIONAL = 0.75, 0.5


class PhoneFinder:
    """Finds phone numbers.

    Args:
        regions: ISO 3166-1 countries whose national formats count.
    """

    def __init__(self, regions: Sequence[str]) -> None:
        unknown = sorted(set(regions) - phonenumbers.SUPPORTED_REGIONS)
        if unknown:
            raise ValueError(f"expected phone regions of the phone number plan, got {', '.join(unknown)}")
        self._regions = tuple(regions)

    def find(self, text: str, window: Window, claimed: Sequence[Finding]) -> Iterator[Finding]:
        """Phone numbers in `window`, outside what `claimed` holds already."""
        for match in _CANDIDATE.finditer(text, window.start, window.end):
            start, end = match.span()
            if any(finding.start < end and start < finding.end for finding in claimed):
                continue
            number = self._parse(text, start, end)
            if number is not None:
                score = _SCORE_INTERNATIONAL if text[start] == "+" else _SCORE_NATIONAL
                yield Finding(start, end, Kind.PHONE, score, number, "PHONE")

    def _parse(self, text: str, start: int, end: int) -> str | None:
        candidate = text[start:end]
        is_international = candidate.startswith(("+", "(+"))
        if not is_international and (
            NOT_PERSONAL.search(text, max(0, start - _NEAR_BEFORE), start) or _DATE.match(candidate)
        ):
            return None
        for region in (None,) if is_international else self._regions:
            try:
                number = phonenumbers.parse(candidate, region)
            except phonenumbers.NumberParseException:
                continue
            if phonenumbers.is_valid_number(number):
                return str(phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164))
        return None
