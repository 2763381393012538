"""A date beside the number of a person is a date of birth, with no header and no word."""

import pytest

from sovctl.gateway.detect import make_detector
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.settings import DetectSettings

DETECTOR = make_detector(DetectSettings())


def born(text: str) -> list[str]:
    return [
        text[found.start : found.end] for found in DETECTOR.find(text) if found.entity_type is EntityType.BIRTH_DATE
    ]


@pytest.mark.parametrize(
    ("row", "date"),
    [
        ("Zorka Blurp|601-61-8701|1966-10-26|zorka@example.com", "1966-10-26"),
        ("17;529.982.247-25;26/10/1966;active", "26/10/1966"),
        ('"Zorka","44051401359","26.10.1966"\n"next","",""', "26.10.1966"),
    ],
)
def test_a_date_in_a_persons_row_is_of_birth(row: str, date: str) -> None:
    assert born(row) == [date]


@pytest.mark.parametrize(
    "row",
    [
        "17;529.982.247-25;26/10/2025;paid",  # nobody's that has an account
        "Invoice|4711|1966-10-26|paid",
        "529.982.247-25 was seen on 26/10/1966, they say",
        "529.982.247-25\n17;26/10/1966;paid",
    ],
)
def test_other_dates_are_not(row: str) -> None:
    assert born(row) == []
