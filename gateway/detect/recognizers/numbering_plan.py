"""Validates phone numbers by Google's metadata in `phonenumbers`.

    plan = PhonePlan(["DE", "GB"])
    plan.international("4930901820")     # "+4930901820"
    plan.national("030901820")           # ("+4930901820", True): with its trunk prefix

`phonenumbers.parse` tries every region in turn, at about 20 microseconds each. Here the patterns of the regions are
compiled once, and a number costs one match for each (measured 2026-11). The results are those of `is_valid_number`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import phonenumbers
from phonenumbers import COUNTRY_CODE_TO_REGION_CODE, PhoneMetadata

_TYPES = (
    *("fixed_line", "mobile", "toll_free", "premium_rate", "shared_cost", "personal_number", "voip", "pager", "uan"),
    "voicemail",
)
_CODES = frozenset(map(str, COUNTRY_CODE_TO_REGION_CODE))
_GROUP = re.compile(r"\(\\d(?:\{([0-9]+)(?:,([0-9]+))?\})?\)")  # of a number's format: (\d{3}), (\d{3,12})
_FEWEST, _MOST = 7, 15  # digits: the shortest national numbers in use; ITU-T E.164, 6.1


@dataclass(frozen=True, slots=True)
class _Region:
    code: str
    """Country code, such as 49."""
    trunk: re.Pattern[str] | None
    """Prefix for calls within the country."""
    transform: str | None
    """Replacement for a trunk prefix that contains more, such as a carrier code."""
    valid: re.Pattern[str]
    groupings: frozenset[tuple[int, ...]]
    """Lengths of the groups in which its numbers are written without a trunk prefix."""


@cache
def _region(name: str) -> _Region:
    metadata: Any = PhoneMetadata.metadata_for_region(name)
    numbers = [getattr(metadata, kind) for kind in _TYPES]
    patterns = [kind.national_number_pattern for kind in numbers if kind and kind.national_number_pattern]
    trunk = metadata.national_prefix_for_parsing
    return _Region(
        str(metadata.country_code),
        re.compile(trunk) if trunk else None,
        metadata.national_prefix_transform_rule,
        re.compile("|".join(f"(?:{pattern})" for pattern in patterns)),
        frozenset(
            lengths
            for each in metadata.number_format
            if not (
                metadata.national_prefix and metadata.national_prefix in (each.national_prefix_formatting_rule or "")
            )
            for lengths in product(*(range(int(a or 1), int(b or a or 1) + 1) for a, b in _GROUP.findall(each.pattern)))
        ),
    )


@cache
def _regions_of(code: int) -> tuple[_Region, ...]:
    names = COUNTRY_CODE_TO_REGION_CODE[code]
    return tuple(_region(name) for name in names if name != "001")


class PhonePlan:
    """The numbers of the world, and the national formats of some regions.

    Args:
        regions: ISO 3166-1 countries whose national formats count.

    Raises:
        ValueError: a region that the plan does not know.
    """

    def __init__(self, regions: Sequence[str]) -> None:
        unknown = sorted(set(regions) - phonenumbers.SUPPORTED_REGIONS)
        if unknown:
            raise ValueError(f"expected phone regions of the phone number plan, got {', '.join(unknown)}")
        self._regions = tuple(_region(name) for name in dict.fromkeys(regions))
        self.groupings = frozenset(lengths for region in self._regions for lengths in region.groupings)
        """Lengths of the groups in which people write numbers that have no trunk prefix."""

    def international(self, digits: str) -> str | None:
        """Return the international number with these digits after a plus sign; None if they are not a valid number."""
        for length in (1, 2, 3):
            code = digits[:length]
            if code in _CODES:
                rest = digits[length:]
                for region in _regions_of(int(code)):
                    for number, _ in _readings(region, rest):
                        if region.valid.fullmatch(number):
                            return f"+{code}{number}"
        return None

    def is_assigned(self, digits: str) -> bool:
        """Return whether `digits` begin with the code of some country."""
        return not _CODES.isdisjoint((digits[:1], digits[:2], digits[:3]))

    def national(self, digits: str) -> tuple[str, bool] | None:
        """Return the number that `digits` are in one of the regions, and whether they have the trunk prefix."""
        if not _FEWEST <= len(digits) <= _MOST:
            return None
        found = None
        for region in self._regions:
            for number, has_trunk in _readings(region, digits):
                if len(number) >= _FEWEST and region.valid.fullmatch(number):
                    if has_trunk or digits[0] == "0":  # Italy's first 0 is part of the number
                        return f"+{region.code}{number}", True
                    found = found or (f"+{region.code}{number}", False)
        return found


def _readings(region: _Region, digits: str) -> Iterator[tuple[str, bool]]:
    """Return `digits` without and with their trunk prefix, and whether the prefix was removed."""
    yield digits, False
    if region.trunk is not None and (match := region.trunk.match(digits)) and match.end() < len(digits):
        rest = digits[match.end() :]
        if region.transform and match.lastindex:
            rest = match.expand(region.transform.replace("$", "\\")) + rest
        yield rest, True
