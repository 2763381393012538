"""Builds the detector that a site's settings describe: which finders, in which order.

detector = make_detector(settings.detect)
"""

from __future__ import annotations

from sovctl.compliance.errors import InputError
from sovctl.gateway.detect.detector import Detector
from sovctl.gateway.detect.finder import Finder
from sovctl.gateway.detect.names import ContextFinder
from sovctl.gateway.detect.structured import StructuredFinder
from sovctl.gateway.settings.detect import DetectSettings


def make_detector(settings: DetectSettings) -> Detector:
    """The detector that these settings describe; made once, at start.

    Raises:
        InputError: a phone region that nobody knows.
    """
    try:
        structured = StructuredFinder(phone_regions=settings.phone_regions)
    except ValueError as error:
        raise InputError(str(error), where="detect.phone_regions") from error
    finders: list[Finder] = [structured, ContextFinder()]
    return Detector(finders)
