"""PINs, card verification codes and one-time passwords: a few digits that only their name makes secret."""

import pytest

from sovctl.gateway.detect.detector import Detector
from sovctl.gateway.detect.structured_finder import StructuredFinder

DETECTOR = Detector([StructuredFinder(phone_regions=["US"])])


def codes(text: str) -> list[str]:
    return [text[found.start : found.end] for found in DETECTOR.find(text) if found.rule == "SECRET_CODE"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("my PIN is 4821, thanks", "4821"),
        ("pin: 4821", "4821"),
        ("CVV 123", "123"),
        ("card 4111 1111 1111 1111, exp 04/27, cvc2: 931", "931"),
        ("Your verification code is 482913.", "482913"),
        ("OTP 482 913 expires in five minutes", "482 913"),
        ("Die mTAN lautet: 593021", "593021"),
        ("mTAN=593021&step=2", "593021"),
        ("Meine Geheimzahl ist 4821", "4821"),
        ("Ваш код подтверждения: 593021", "593021"),
        ("ПИН-код 4821", "4821"),
        ("رمز التحقق 593021", "593021"),
        ("验证码：593021", "593021"),
        ('{"cvv": "123"}', "123"),
        ('"CREDITCARDCVV":"118"', "118"),
        ("<b>pinkode</b> 0557", "0557"),
        ("PIN-kód: 9164", "9164"),
        ("CVV.....: 930", "930"),
        ("The CVV for this card is 471, thanks", "471"),
        ("Your OTP for login to the bank is 471093.", "471093"),
        ("Customer: The code is 471093.", "471093"),
        ("the code on the back reads 471", "471"),
        ("The three digits on the back of my card are 471.", "471"),
        ("Der Code auf der Rückseite lautet 471", "471"),
        ("Le code au dos de ma carte est 471", "471"),
        ("Код на обороте карты: 471", "471"),
    ],
)
def test_a_code_is_found_beside_its_name(text: str, code: str) -> None:
    assert codes(text) == [code]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Is 471 the CVV?", "471"),
        ("471 is my cvv", "471"),
        ("471, that's the security code", "471"),
        ("4710 is my PIN", "4710"),
        ("Use 4710 as your pin please", "4710"),
        ("4710 ist meine PIN", "4710"),
        ("471 est le cryptogramme", "471"),
        ("471 to mój cvv", "471"),
        ("4710 — мой ПИН", "4710"),
    ],
)
def test_a_code_is_found_before_its_name(text: str, code: str) -> None:
    assert codes(text) == [code]


@pytest.mark.parametrize(
    "text",
    [
        "the pin 1234 of the board and GPIO pin: 12",
        "spinning 4821 wheels, tan 4821 leather",
        "the security code of 2,400 pages",
        "verification code is sent within 300.5 seconds",
        "CVV has 3 digits, OTP has 6",
        "standard 4821",
        "In 2024 the CVV was changed",
        "1024 is the pin count of the board",
        "is 2024 the year of the OTP",
        "300 words on the back of the card",
        "the code 2004 means a time-out, and the code is 12 lines long",
    ],
)
def test_digits_without_such_a_name_are_none(text: str) -> None:
    assert codes(text) == []
