"""The interface of finders: structured identifiers, names by context, listed customers, a site's own model.

A finder receives one `NormalizedText` and returns findings with spans of `view.text`. The detector maps the spans to
the original text and resolves overlaps, so a finder handles neither disguises nor findings of other finders.

- Deterministic: the same text gives the same findings.
- A finder keeps no text after the call.
- A finder raises for a text that it cannot process, because the detector must not skip text.

    class Greetings:
        rules = ("GREETING",)

        def find(self, view, found):
            for match in re.finditer(r"(?<=Dear )\\w+", view.text):
                yield Finding(*match.span(), EntityType.PERSON, 0.7, match.group().casefold(), "GREETING")

    Detector([*structured, Greetings()])
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from .findings.finding import Finding
from .text.view import NormalizedText


class Finder(Protocol):
    """Finds identifiers in one view of a text."""

    @property
    def rules(self) -> Sequence[str]:
        """Names of all rules that its findings can carry."""

    def find(self, view: NormalizedText, found: Sequence[Finding]) -> Iterable[Finding]:
        """Return the identifiers in `view`.

        Args:
            found: findings of the earlier finders in the same view, unordered, possibly overlapping. A number with a
                valid checksum is not reported as a phone number; an IBAN next to a name supports the name.
        """
