"""What finds something in a text: structured identifiers, names by context, listed customers, a site's own model.

A finder reads one `View` and gives findings with spans of `view.text`; the detector leads them back to the original and
settles overlaps once, so a finder never cares about disguises or about other finders. Rules: deterministic; no text is
kept after the call; whatever can't be read raises, because the detector must not skip.

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
from .text.view import View


class Finder(Protocol):
    """One way of finding."""

    @property
    def rules(self) -> Sequence[str]:
        """Names of all rules that its findings can carry."""

    def find(self, view: View, found: Sequence[Finding]) -> Iterable[Finding]:
        """What stands in `view`.

        Args:
            found: what the finders before this one found in the same view, in no order, possibly overlapping: a number
                that a checksum claimed is no phone number; an IBAN beside a name supports it.
        """
