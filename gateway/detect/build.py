"""Builds the detector that a site's settings describe: its finders, in order.

detector = make_detector(settings.detect)
"""

from __future__ import annotations

from sovctl.support.errors import InputError, Problem, SpecError

from ..settings.detection.detect import DetectSettings
from ..settings.load import load_recognizers
from . import labels
from .custom.compile import Located, custom_finder
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
        SpecError: every problem of the site's recognizers.
    """
    try:
        structured = StructuredFinder(phone_regions=settings.phone_regions)
    except ValueError as error:
        raise InputError(str(error), where="detect.phone_regions") from error
    names = NameFinder(open_edm(settings.exact_data_match) if settings.exact_data_match else None)
    finders: list[Finder] = [structured, AddressFinder(), ColumnFinder(), RowFinder(), names]
    labels.prepare()
    special_categories.prepare()
    built_in = Detector(finders, is_cue=labels.is_cue)
    custom = custom_finder(recognizers_of(settings), known_rules=built_in.rule_names)
    if custom is None:
        return built_in

    def is_cue(label: str) -> bool:
        return labels.is_cue(label) or custom.explains(label)

    return Detector([*finders, custom], is_cue=is_cue)


def recognizers_of(settings: DetectSettings) -> list[Located]:
    """Return the recognizers of the settings and of their files.

    Raises:
        SpecError: every problem of the files.
    """
    located = [Located(f"detect.recognizers[{n}]", each) for n, each in enumerate(settings.recognizers)]
    problems = []
    for path in settings.recognizer_files:
        try:
            located += [Located(f"{path}: recognizers[{n}]", each) for n, each in enumerate(load_recognizers(path))]
        except SpecError as error:
            problems += error.problems
        except InputError as error:
            problems.append(Problem(error.message, where=error.where, hint=error.hint))
    if problems:
        raise SpecError(problems)
    return located
