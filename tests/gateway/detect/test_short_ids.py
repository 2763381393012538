"""Customers', patients' and employees' short numbers are found beside their names, and other digits are not."""

import pytest

from sovctl.gateway.detect.detector import Detector
from sovctl.gateway.detect.structured_finder import StructuredFinder

DETECTOR = Detector([StructuredFinder(phone_regions=["US"])])


def found(text: str) -> list[tuple[str, str]]:
    return [(found.rule, text[found.start : found.end]) for found in DETECTOR.find(text)]


@pytest.mark.parametrize(
    ("text", "rule", "number"),
    [
        ("Patient ID: 48217, seen today", "HEALTH_ID_BY_WORD", "48217"),
        ("MRN: 65217", "HEALTH_ID_BY_WORD", "65217"),
        ('{"patient_id": "48217"}', "HEALTH_ID_BY_WORD", "48217"),
        ("Kundennummer: 4827", "CUSTOMER_BY_WORD", "4827"),
        ('"employeeId": 48217', "CUSTOMER_BY_WORD", "48217"),
        ("Your customer number is 4827.", "CUSTOMER_BY_WORD", "4827"),
        ("matricule : 48217", "CUSTOMER_BY_WORD", "48217"),
        ("Shirley (ID: EMP-30217)", "CUSTOMER_BY_WORD", "EMP-30217"),
        ("record MRN-780217 was open", "HEALTH_ID_BY_WORD", "MRN-780217"),
    ],
)
def test_a_short_number_is_found_beside_its_name(text: str, rule: str, number: str) -> None:
    assert found(text) == [(rule, number)]


@pytest.mark.parametrize(
    "text",
    [
        "patient no 3 of 5",
        "the customer number rose by 4827",
        "patient id 2.5678",
        "TEMP-30217",
        "EMP-30217-B",
        "MRN 12",
    ],
)
def test_other_digits_are_nobodys(text: str) -> None:
    assert found(text) == []
