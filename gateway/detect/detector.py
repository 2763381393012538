"""The detector: returns the findings in a text. Deterministic, in memory; raises instead of skipping text.

    detector = make_detector(DetectSettings(phone_regions=["DE", "GB"]))      # see `build`
    detector.find("IBAN DE89 3704 0044 0532 0130 00")
    # [Finding(start=5, end=32, entity_type=EntityType.IBAN, score=1.0, rule="IBAN")]

A caller that catches an exception of the detector must treat the text as containing identifiers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..domain.work import spend
from .finder import Finder
from .findings.finding import Finding
from .findings.overlaps import resolve
from .text.deobfuscation import views
from .text.view import NormalizedText
from .text.words import Words

# Units of work, measured 2026-11.
_TEXT_WORK, _VIEW_WORK = 50, 30  # a text, and a form in which it is read, however short
_CHARACTERS_OF_UNIT = 8


class Detector:
    """Finds identifiers in one text at a time.

    Args:
        finders: asked in this order; each sees what those before it found.
        is_cue: whether a finder knows a word of a label, such as the key of a value.
    """

    def __init__(self, finders: Sequence[Finder], *, is_cue: Callable[[str], bool] = lambda _: False) -> None:
        self._finders = tuple(finders)
        self.is_cue = is_cue

    @property
    def rule_names(self) -> list[str]:
        """Names of all rules, sorted."""
        return sorted({rule for finder in self._finders for rule in finder.rules})

    def find(self, text: str) -> list[Finding]:
        """Identifiers in `text`, sorted by start, none overlapping; spans are those of `text` as given."""
        return self.scan(text)[0]

    def scan(self, text: str) -> tuple[list[Finding], Words | None]:
        """Return the findings, and the words of an ASCII text without own tokens, for `language.languages`."""
        spend(_TEXT_WORK)
        found: list[Finding] = []
        seen = views(text)
        for view in reversed(seen):  # of equal findings, the deobfuscated one is kept
            in_view: list[Finding] = []
            spend(_VIEW_WORK + len(view.text) // _CHARACTERS_OF_UNIT)
            for finder in self._finders:
                in_view += finder.find(view, in_view)
            found += in_view if view.is_original else [_in_original(view, finding) for finding in in_view]
        return resolve(found), seen[0].words if text.isascii() and not seen[0].tokens else None


def _in_original(view: NormalizedText, finding: Finding) -> Finding:
    start, end = view.span(finding.start, finding.end)
    return Finding(start, end, finding.entity_type, finding.score, finding.value, finding.rule)
