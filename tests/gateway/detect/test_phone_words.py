"""Numbers that only the words beside them make phone numbers, and their extensions."""

import pytest

from sovctl.gateway.detect import Detector, make_detector
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.settings import DetectSettings


@pytest.fixture(scope="module")
def detector() -> Detector:
    return make_detector(DetectSettings(phone_regions=["US", "GB"]))


def found(detector: Detector, text: str) -> list[str]:
    return [
        text[finding.start : finding.end] for finding in detector.find(text) if finding.entity_type is EntityType.PHONE
    ]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Fax: 345-555-0160x4587", ["345-555-0160x4587"]),
        ("Desk: (898)555-0135x0135, call me", ["(898)555-0135x0135"]),
        ("416 60 039 office\n+44 7700 900123 fax", ["416 60 039", "+44 7700 900123"]),
        ("Mobile: 737 219 628\nDesk: 5403926876", ["737 219 628", "5403926876"]),
        ("They're not answering at 78 651 450", ["78 651 450"]),
        ("No more messages to 699 956 915, please", ["699 956 915"]),
        ("Ich bin erreichbar unter 699 956 915", ["699 956 915"]),
    ],
)
def test_words_beside_a_number_make_it_a_phone_number(detector: Detector, text: str, numbers: list[str]) -> None:
    assert found(detector, text) == numbers


@pytest.mark.parametrize(
    ("text", "number", "region"),
    [
        ("Numéro de rappel 06.12.34.23.19 figure au dossier", "06.12.34.23.19", "FR"),
        ("numéro de rappel 01 99 00 35 76 figure au dossier", "01 99 00 35 76", "FR"),
        ("Volgens de brief staat terugbelnummer 06 1234 9662 in het dossier", "06 1234 9662", "NL"),
    ],
)
def test_a_number_to_call_back_is_a_phone_number(text: str, number: str, region: str) -> None:
    assert found(make_detector(DetectSettings(phone_regions=[region])), text) == [number]


@pytest.mark.parametrize(
    "text",
    [
        "The office has 1,234,567 files; call me about 3 of them.",
        "Call me about work order 1234567.",
        "A screen of 1920x1080 or 3840x2160 pixels, call for a quote",
        "0x1234567 and 640x480x24",
        "416 60 039 office",
    ],
)
def test_phone_word_alone_is_not_a_phone_number(detector: Detector, text: str) -> None:
    assert found(detector, text) == []


@pytest.mark.parametrize("text", ["有事找小刘，13912344177", "换号了，159 1234 4177", "老赵 186-1234-4177"])
def test_a_chinese_mobile_number_needs_no_word(text: str) -> None:
    assert len(found(make_detector(DetectSettings(phone_regions=["CN"])), text)) == 1


@pytest.mark.parametrize("text", ["订单号13912344177", "预算 12912344177", "编号 A-13912344177"])
def test_other_chinese_digits_are_no_mobile_number(text: str) -> None:
    assert found(make_detector(DetectSettings(phone_regions=["CN"])), text) == []


def test_a_contact_is_reached_by_a_phone_number(detector: Detector) -> None:
    assert found(detector, "Contact the front desk at 4475550160.") == ["4475550160"]
    assert found(detector, "Main Line: (725) 555-0160") == ["(725) 555-0160"]
