"""What is in a text: identifiers, names, language.

One small interface: `Detector.find(text) -> list[Finding]` (spans of the text as it was given, none overlapping) and
`language.languages(text)`. Behind it, in the order they run: `view` undoes disguises, `candidates` finds the few
places worth a look, `judge` lets Presidio's pattern recognizers and their checksums decide, `names` finds names by
their context, `finding.resolve` settles overlaps once. Nothing here does I/O, and nothing here can reach a network.
"""

from sovctl.gateway.detect.detector import Detector
from sovctl.gateway.detect.finding import Finding

__all__ = ["Detector", "Finding"]
