"""Exact data match: finds the institution's own people, companies and numbers, which it stores as keyed hashes.

`index` builds an index of a CSV file, `matching` finds its people and companies in all their forms:

    listed = open_edm(settings.detect.exact_data_match)
    list(listed.find(words_of("Sehr geehrte Frau Rübenack")))
"""

from __future__ import annotations

from sovctl.support.secret_files import read_key

from ...settings.detection.exact_data_match import ExactDataMatchSettings
from .index.index import Index
from .matching.finder import EdmFinder

__all__ = ["EdmFinder", "open_edm"]


def open_edm(settings: ExactDataMatchSettings) -> EdmFinder:
    """Return the finder of the entries in an index.

    Raises:
        InputError: index or key are absent, damaged, or don't belong together.
    """
    return EdmFinder(Index.open(settings.index_file, read_key(settings.key_file)))
