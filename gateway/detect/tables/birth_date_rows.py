"""Dates of birth in rows without a header: a date in a row with the national identifier of a person.

    Emma King|601-61-8701|1966-10-26|emma@example.com       # BIRTH_DATE

Only its position shows whose date it is. So the row must contain an identifier that only persons have, the date must
fill its cell, and it must be 14 to 110 years ago, so that a person with an account can have been born then.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence

from ...domain.entities import EntityType
from ..context.table_rows import rows_of
from ..findings.finding import Finding
from ..text.view import NormalizedText

_DATE = re.compile(
    r"(?:(?<=[|;,\t])|^)[ \"']{0,3}(?P<date>(?P<first>[0-9]{4})([-./])[0-9]{1,2}\3[0-9]{1,2}"
    r"|[0-9]{1,2}([-./])[0-9]{1,2}\4(?P<last>[0-9]{4}))[ \"']{0,3}(?=[|;,\t]|$)"
)
_YOUNGEST, _OLDEST = 14, 110  # years
_PERSONS = (EntityType.NATIONAL_ID,)
_RULE, _SCORE = "BIRTH_DATE", 0.5


class RowFinder:
    """Finds dates of birth in rows; see `detect.finder.Finder`."""

    rules = (_RULE,)

    def find(self, view: NormalizedText, found: Sequence[Finding]) -> Iterator[Finding]:
        """Dates in the rows of numbers of persons."""
        text = view.text
        for start, end in rows_of(text, found, _PERSONS):
            for match in _DATE.finditer(text[start:end]):
                age = time.gmtime().tm_year - int(match["first"] or match["last"])
                if _YOUNGEST <= age <= _OLDEST:
                    first, last = (start + place for place in match.span("date"))
                    yield Finding(first, last, EntityType.BIRTH_DATE, _SCORE, match["date"], _RULE)
