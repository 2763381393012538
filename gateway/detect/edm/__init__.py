"""Exact data match: the institution's own people, companies and numbers, kept as keyed hashes.

`build` makes an index of a CSV file, `finder` finds what it lists in any of its forms:

    listed = open_listed(settings.detect.exact_data_match)
    list(listed.find(read("Sehr geehrte Frau Rübenack")))
"""

from __future__ import annotations

from sovctl.support.secret_files import read_key

from ...settings.exact_data_match import ExactDataMatchSettings
from .index.index import Index
from .matching.finder import ListedFinder

__all__ = ["ListedFinder", "open_listed"]


def open_listed(settings: ExactDataMatchSettings) -> ListedFinder:
    """The finder of what an index lists.

    Raises:
        InputError: index or key are absent, damaged, or don't belong together.
    """
    return ListedFinder(Index.open(settings.index_file, read_key(settings.key_file)))
