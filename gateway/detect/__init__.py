"""Detector: finds identifiers, names and languages in a text. Opens no network connection.

Interface: `make_detector(settings)`, `Detector.find(text) -> list[Finding]` (spans of the given text, none overlapping)
and `language.languages(text)`. In the order in which they run:

- `text` undoes disguises; each result is a `NormalizedText`, in short a view.
- The finders that `build` assembles (interface: `finder`) return findings for each view: `structured_finder` for
  identifiers with a form of their own, `tables` for columns, `name_finder` for names.
- `findings.overlaps.resolve` resolves overlapping findings.
"""

from .build import make_detector
from .detector import Detector
from .findings.finding import Finding

__all__ = ["Detector", "Finding", "make_detector"]
