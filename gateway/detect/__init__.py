"""What is in a text: identifiers, names, language.

One small interface: `make_detector(settings)`, `Detector.find(text) -> list[Finding]` (spans of the text as it was
given, none overlapping) and `language.languages(text)`. Behind it, in the order they run: `view` undoes disguises,
the finders that `build` chose (protocol: `finder`) read what it shows, `finding.resolve` settles overlaps once.
`structured` finds identifiers with a form of their own: `candidates` finds the few places worth a look, `judge` lets
Presidio's pattern recognizers and their checksums decide. `names` finds names by their context. Nothing here reaches a
network.
"""

from .build import make_detector
from .detector import Detector
from .findings.finding import Finding

__all__ = ["Detector", "Finding", "make_detector"]
