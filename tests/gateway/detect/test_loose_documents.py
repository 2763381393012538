"""Passports, licences, number plates and accounts whose numbers have hardly a form are found beside their words."""

from __future__ import annotations

import pytest

from sovctl.gateway.detect.detector import Detector
from sovctl.gateway.detect.structured_finder import StructuredFinder

DETECTOR = Detector([StructuredFinder(phone_regions=["US"])])

# Rule, and the number between ⟦ and ⟧ in its text; all of them invented.
BESIDE = [
    ("PASSPORT_BY_WORD", "The customer gave ⟦C5KY8WYTL⟧ as passport number"),
    ("PASSPORT_BY_WORD", "pasnummer : ⟦CHC9MJLPV⟧"),
    ("PASSPORT_BY_WORD", '{"passportNumber": "⟦C5KY8WYTL⟧"}'),
    ("LICENCE_BY_WORD", "⟦4477309⟧ is my driver's license number"),
    ("LICENCE_BY_WORD", "⟦447730⟧ (driving licence)"),
    ("LICENCE_BY_WORD", "licence: ⟦63677309⟧"),
    ("LICENCE_BY_WORD", "Sürücü belgesi numaram ⟦X447730⟧"),
    ("LICENCE_BY_WORD", "номер прав ⟦39 УА 447730⟧"),
    ("LICENCE_BY_WORD", "водійське посвідчення ⟦ВХА447730⟧"),
    ("PLATE_BY_WORD", "véhicule immatriculé ⟦EN-447-PJ⟧"),
    ("PLATE_BY_WORD", "auto targata ⟦VV447OP⟧"),
    ("PLATE_BY_WORD", "⟦34 XB 4477⟧ plakalı araç"),
    ("PLATE_BY_WORD", "автомобиль с номером ⟦а447вс 19⟧"),
    ("PLATE_BY_WORD", "гос. номер ⟦М 447 ОР 130⟧"),
    ("LICENCE_BY_WORD", 'driver_license: "⟦26RO9AJGWI6⟧"'),
    ("LICENCE_BY_WORD", "licenseNumber=⟦W962-4568-9564⟧ status=open"),
    ("LICENCE_BY_WORD", "el carné de conducir ⟦SO55W4PXTLJ⟧"),
    ("UK_PLATE", "licence plate ⟦YO53 PRH⟧ of the car"),
    ("PLATE_BY_WORD", "Kennzeichen: ⟦B-MW 1234⟧"),
    ("PLATE_BY_WORD", "госномер ⟦А123ВС 77⟧"),
    ("ACCOUNT_BY_WORD", "IBAN: ⟦DE12 3456 7890 1234 5678 00⟧"),  # check digits are wrong
    ("ACCOUNT_BY_WORD", '"accountNumber": "⟦38404049⟧"'),
    ("HEALTH_ID_BY_WORD", "patient ID ⟦AHC-0933289⟧ was swapped"),
    ("HEALTH_ID_BY_WORD", "the insurance policy #⟦88291-LK⟧"),
    ("HEALTH_ID_BY_WORD", "Patient ID: ⟦123456⟧, seen today"),
    ("CUSTOMER_BY_WORD", "Kundennummer: ⟦20481632⟧"),
    ("CUSTOMER_BY_WORD", "her policy number is ⟦POL-8829311⟧"),
    ("ACCOUNT_BY_WORD", "And your account number?\n[10:17 AM] Customer: Sure, it's ⟦123456789⟧."),
    ("ACCOUNT_BY_WORD", "Wie lautet Ihre Kontonummer? ⟦20481632⟧"),
    ("ACCOUNT_BY_WORD", "Какой у вас номер счёта?\n- Он такой: ⟦20481632⟧"),
    ("CARD_BY_WORD", "the last bill for cc ⟦503802053770⟧"),
    ("PLATE_BY_WORD", "لوحة السيارة: ⟦ب ص ن ١٤١١⟧"),
    ("PLATE_BY_WORD", "ナンバープレートは⟦品川 187 に 12-34⟧です"),
    ("PLATE_BY_WORD", "차량번호는 ⟦332주1510⟧입니다"),
    ("CN_PLATE", "请记录车牌号：⟦贵E-71594⟧"),
    ("CN_PLATE", "他的车是⟦粤B·44177⟧，停在楼下"),
    ("PASSPORT_BY_WORD", "Паспорт: ⟦4417 № 291773⟧, выдан"),
    ("PASSPORT_BY_WORD", "паспорт серия ⟦44 17 номер 291773⟧"),
    ("PLATE_BY_WORD", "Plates: ⟦APQ-447CV⟧"),
    ("UK_PLATE", "My car reg is ⟦AB51 KTR⟧ and it expires"),
    ("PLATE_BY_WORD", 'license_plate="⟦993 OML⟧" state="open"'),
    ("PLATE_BY_WORD", "license_plate=⟦39Y-QZHU⟧ STATUS missing"),
    ("PLATE_BY_WORD", "plate_number: ⟦28-92488⟧"),
    ("PLATE_BY_WORD", "SPZ ⟦DMS-7168⟧"),
    ("PLATE_BY_WORD", "Der Kunde nannte am Telefon ⟦JW-481 QS⟧ als Kennzeichen."),
    ("PASSPORT_BY_WORD", "Der Kunde nannte am Telefon ⟦Z42888399⟧ als Passnummer."),
    ("LICENCE_BY_WORD", "您好，我的驾照是⟦YVQWWJD2DE9⟧，请更新。"),
    ("LICENCE_BY_WORD", "免許証：⟦459333246⟧"),
    ("BIC_BY_WORD", "БИК: ⟦DEUTDEFF⟧"),
    ("CARD_BY_WORD", 'pan = "⟦502097429786⟧"'),
    ("PLATE_BY_WORD", '"VEHICLEVRM": "⟦К 615 МН 77⟧"'),
    ("PLATE_BY_WORD", "рег. № ⟦СА 5632 ВТ⟧"),
    ("ACCOUNT_BY_WORD", "ACCOUNTNUM=⟦4757874359⟧"),
    ("ACCOUNT_BY_WORD", "номер на сметка: ⟦72729680⟧"),
    ("ID_BY_WORD", '"SOCIALNUM":"⟦78549362017⟧"'),
    ("CN_RESIDENT_ID", "please look at ⟦110105197803024968⟧ today"),
    ("IT_FISCAL_CODE", "Vedo ⟦DFS LCR 00M65 H501 L⟧ qui"),
    ("FR_NIR", "Je vois ⟦1731059264387 19⟧ ici"),
    ("ZA_ID", "sent to ⟦530206 1895 09 5⟧ today"),
    ("IPV6", "IP:⟦fe80::4bc4:e4ce:92aa:5bd8⟧"),
    ("US_SSN", "Is everything in order?\nsocial = ⟦345-51-1417⟧"),
    ("BIRTH_DATE", "O que fazemos? nascido em: ⟦27.01.1941⟧"),
    ("PASSPORT_BY_WORD", "Kunt u dat bevestigen?\n\nPaspoort: ⟦AB2238185⟧"),
    ("BIRTH_DATE", "született: ⟦1963. augusztus 6⟧."),
    ("BIRTH_DATE", "date of birth of the patient: ⟦12/11/1977⟧"),
    ("BIRTH_DATE", '"dateOfBirth": "⟦2001-12-13⟧"'),
    ("BIRTH_DATE", "dob: ⟦12.05.1980⟧, since: 01.04.2019"),
    ("BIRTH_DATE", "D. O. B.: ⟦12.05.1980⟧"),
    ("BIRTH_DATE", "d/o/b ⟦12.05.1980⟧"),
    ("BIRTH_DATE", "请记录出生日期⟦29/10/1951⟧。"),
    ("BIC_BY_WORD", "제 BIC는 ⟦DEUTDEFF500⟧입니다"),
    ("IPV6", "금요일까지 ⟦2001:db8:e9e:e35b:9e26:bdb4:f2c0:6cfc⟧로"),
    ("MAC_BY_WORD", "mac_address=⟦34:37:00:29:94:06⟧"),
    ("MAC", "request mac=⟦54:9E:7D:BF:03:27⟧"),
    ("IBAN", "the account ⟦GB95UXJJ2675751646030⟧ of a test"),  # valid but a digit short for its country
]
NOBODYS = [
    "Did the parcel arrive? Order 20481632 is late",
    "Who is the customer? 20481632 bytes were read",
    "our customers need 250000 EUR",
    "account: 20481632 EUR",
    "License plates under ISO 7591 and DIN 74069",
    "number plate recognition in 2024 with YOLOv8 and ResNet50",
    "swift_code missing, PASSPORT_NO and BANKACCOUNT too",
    "2026-03-02T11:04:09.113Z INFO done nationalId missing",
    "réf. RZ-95008, lot 081609",
    "a number plate of 2024",
    "Copyright 2004-2005 of the company, 2010 Canonical Ltd.",
    "a passport is needed for the 2026 CUP in A4 format",
]


@pytest.mark.parametrize(("rule", "marked"), BESIDE)
def test_a_number_beside_its_word_is_found(rule: str, marked: str) -> None:
    before, rest = marked.split("⟦")
    number, after = rest.split("⟧")
    text = before + number + after
    assert [(f.rule, text[f.start : f.end]) for f in DETECTOR.find(text)] == [(rule, number)]


@pytest.mark.parametrize("text", NOBODYS)
def test_what_only_stands_near_such_a_word_is_left_alone(text: str) -> None:
    assert DETECTOR.find(text) == []
