"""Builds the detector that a site's settings describe: its finders, in order.

detector = make_detector(settings.detect)
"""

from __future__ import annotations

from sovctl.support.errors import InputError

from ..settings.detection.detect import DetectSettings
from . import labels
from .detector import Detector
from .edm import open_edm
from .finder import Finder
from .name_finder import NameFinder
from .recognizers.postal_address import AddressFinder
from .special_categories import finder as special_categories
from .structured_finder import StructuredFinder
from .tables.birth_date_rows import RowFinder
from .tables.columns import ColumnFinder


def make_detector(settings: DetectSettings) -> Detector:
    """Return the detector of these settings. Called once, at start.

    Raises:
        InputError: an unknown phone region; an index or its key that cannot be used.
    """
    try:
        structured = StructuredFinder(phone_regions=settings.phone_regions)
    except ValueError as error:
        raise InputError(str(error), where="detect.phone_regions") from error
    names = NameFinder(open_edm(settings.exact_data_match) if settings.exact_data_match else None)
    finders: list[Finder] = [structured, AddressFinder(), ColumnFinder(), RowFinder(), names]
    labels.prepare()
    special_categories.prepare()
    return Detector(finders)
