"""Numbers of persons and companies outside Europe, and what is the same everywhere; valid, drawn at random."""

from __future__ import annotations

import base64
import json
import string
from random import Random

from bench.pii_sets.checkdigits import base58check, luhn, mod97_pair, verhoeff, weighted
from bench.pii_sets.europe import Draw, born, digits

# Country: lengths of the parts after the check digits; `a` letters, `n` digits (SWIFT IBAN registry, release 99).
_IBANS = {
    "DE": "n18", "FR": "n10a2n11", "GB": "a4n14", "NL": "a4n10", "PL": "n24", "ES": "n20", "IT": "a1n10n12",
    "TR": "n22", "PT": "n21", "AE": "n19", "SA": "n20", "KZ": "n3n13", "BE": "n12", "AT": "n16", "CH": "n17",
    "IE": "a4n14",
}  # fmt: skip
_CARDS = {"4": 16, "51": 16, "55": 16, "34": 15, "37": 15, "6011": 16, "3528": 16, "2221": 16, "220": 16}


def iban(country: str) -> Draw:
    """An IBAN of a country, in groups of four or not."""

    def draw(dice: Random) -> str:
        body, pattern = "", _IBANS[country]
        for kind, count in _parts(pattern):
            body += "".join(dice.choices(string.digits if kind == "n" else string.ascii_uppercase, k=count))
        number = country + mod97_pair(f"{body}{country}00") + body
        if dice.random() < 0.5:
            return number
        return " ".join(number[at : at + 4] for at in range(0, len(number), 4))

    return draw


def _parts(pattern: str) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for sign in pattern:
        if sign.isalpha():
            found.append((sign, 0))
        else:
            found[-1] = (found[-1][0], found[-1][1] * 10 + int(sign))
    return found


def card(dice: Random) -> str:
    """A payment card number."""
    prefix, length = dice.choice(list(_CARDS.items()))
    base = prefix + "".join(dice.choices(string.digits, k=length - 1 - len(prefix)))
    number = base + luhn(base)
    separator = dice.choice(("", " ", "-"))
    if length == 15:
        return separator.join((number[:4], number[4:10], number[10:]))
    return separator.join(number[at : at + 4] for at in range(0, length, 4))


_FIRST = (
    "anna",
    "j.weber",
    "s-kovacs",
    "amina_99",
    "p.oconnor",
    "info",
    "maria.lopez",
    "t.nowak",
    "yusuf",
    "n.kim.work",
)
_HOSTS = ("example.com", "example.org", "mail.example.net", "bank.example.com", "xn--bcher-kva.example.org")


def email(dice: Random) -> str:
    """An address at a reserved domain (RFC 2606)."""
    return f"{dice.choice(_FIRST)}{dice.choice(('', str(dice.randrange(10, 99)), '+ticket'))}@{dice.choice(_HOSTS)}"


_PHONES = {
    "en": ("+1 212 555 01{2}", "(202) 555-01{2}", "+44 20 7946 0{3}", "020 7946 0{3}", "+65 6123 4{3}"),
    "de": ("+49 30 23125 {3}", "030 23125{3}", "0171 39200{2}", "+49 (0)89 99998{3}", "+41 44 668 18 {2}"),
    "fr": ("01 99 00 {2} {2}", "+33 6 12 34 {2} {2}", "+33 1 99 00 {2} {2}", "06.12.34.{2}.{2}"),
    "es": ("+34 612 34 {2} {2}", "612 345 {3}", "+34 912 345 {3}", "91 234 {2} {2}"),
    "pl": ("+48 512 345 {3}", "512-345-{3}", "22 555 {2} {2}", "+48 22 555 {2} {2}"),
    "it": ("+39 06 555 {3}1", "+39 333 123 {4}", "333 123 {4}", "06 555{4}"),
    "nl": ("+31 20 123 {4}", "06 1234 {4}", "020-123 {4}", "+31 6 1234 {4}"),
    "tr": ("+90 532 123 {2} {2}", "0532 123 {2} {2}", "(0212) 555 {2} {2}"),
    "pt": ("+351 912 345 {3}", "912 345 {3}", "+55 11 91234-{4}", "21 123 {4}"),
    "ru": ("+7 495 123-{2}-{2}", "8 (495) 123-{2}-{2}", "+7 (903) 123 {2} {2}", "8 903 123-{2}-{2}"),
    "kk": ("+7 701 123 {2} {2}", "8 (727) 250 {2} {2}", "+7 (707) 123-{2}-{2}"),
    "id": ("+62 812-3456-{4}", "0812 3456 {4}", "(021) 555 {4}", "+62 21 555 {4}"),
    "ar": ("+971 50 123 {4}", "+966 50 123 {4}", "050 123 {4}", "+20 10 0123 {4}"),
}  # fmt: skip


def phone(language: str) -> Draw:
    """A number as people of this language write it."""

    def draw(dice: Random) -> str:
        text = dice.choice(_PHONES[language])
        for count in (2, 3, 4):
            while f"{{{count}}}" in text:
                text = text.replace(f"{{{count}}}", "".join(dice.choices("123456789", k=count)), 1)
        return text

    return draw


def us_ssn(dice: Random) -> str:
    """SSN: no check digit; 000, 666 and 900 and above are not issued."""
    area = dice.choice([number for number in range(101, 899) if number != 666])
    return f"{area}-{dice.randrange(10, 99)}-{dice.randrange(1000, 9999)}"


def in_aadhaar(dice: Random) -> str:
    """Aadhaar: Verhoeff."""
    base = digits(dice, 11, first="23456789")
    number = base + verhoeff(base)
    return f"{number[:4]} {number[4:8]} {number[8:]}"


def in_pan(dice: Random) -> str:
    """PAN: the fourth letter is the type of its holder."""
    letters = "".join(dice.choices("ABCDEFGHKLM", k=3))
    return f"{letters}P{dice.choice('BGKLMRST')}{dice.randrange(1000, 9999)}{dice.choice('ABCDEFGHJK')}"


def id_nik(dice: Random) -> str:
    """NIK: region, birth date (women + 40), serial."""
    year, month, day = born(dice)
    region = dice.choice(("317101", "327301", "357801", "517101", "127101"))
    return f"{region}{day + dice.choice((0, 40)):02}{month:02}{year % 100:02}{dice.randrange(1, 9999):04}"


def id_npwp(dice: Random) -> str:
    """NPWP: Luhn over the first nine."""
    base = "0" + digits(dice, 7)
    nine = base + luhn(base)
    return f"{nine[:2]}.{nine[2:5]}.{nine[5:8]}.{nine[8]}-{dice.randrange(1, 999):03}.000"


def sa_id(dice: Random) -> str:
    """Saudi national identity or iqama: Luhn."""
    base = digits(dice, 9, first="12")
    return base + luhn(base)


def ae_id(dice: Random) -> str:
    """Emirates ID: 784, year, seven digits, Luhn."""
    year = born(dice)[0]
    serial = digits(dice, 7)
    return f"784-{year}-{serial}-{luhn(f'784{year}{serial}')}"


def kz_iin(dice: Random) -> str:
    """IIN: birth date, century and sex, serial, two rounds of weights."""
    while True:
        year, month, day = born(dice)
        base = f"{year % 100:02}{month:02}{day:02}{dice.choice('34')}{digits(dice, 4)}"
        check = weighted(base, range(1, 12)) % 11
        if check == 10:
            check = weighted(base, (3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2)) % 11
        if check < 10:
            return base + str(check)


def br_cpf(dice: Random) -> str:
    """CPF: two remainders by 11."""
    base = digits(dice, 9)
    for _ in range(2):
        check = -weighted(base, range(len(base) + 1, 1, -1)) % 11
        base += str(check if check < 10 else 0)
    return f"{base[:3]}.{base[3:6]}.{base[6:9]}-{base[9:]}"


def br_cnpj(dice: Random) -> str:
    """CNPJ: two remainders by 11."""
    base = f"{digits(dice, 8)}0001"
    for weights in ((5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2), (6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2)):
        check = -weighted(base, weights) % 11
        base += str(check if check < 10 else 0)
    return f"{base[:2]}.{base[2:5]}.{base[5:8]}/{base[8:12]}-{base[12:]}"


def sg_nric(dice: Random) -> str:
    """NRIC: weights 2 7 6 5 4 3 2."""
    number = digits(dice, 7)
    return f"S{number}{'JZIHGFEDCBA'[weighted(number, (2, 7, 6, 5, 4, 3, 2)) % 11]}"


def za_id(dice: Random) -> str:
    """South African identity: birth date, Luhn."""
    year, month, day = born(dice)
    base = f"{year % 100:02}{month:02}{day:02}{digits(dice, 4)}08"
    return base + luhn(base)


def mx_curp(dice: Random) -> str:
    """CURP: weighted over 37 signs."""
    year, month, day = born(dice)
    base = "".join(dice.choices("BCDFGHLMR", k=1)) + dice.choice("AEIO") + "".join(dice.choices("BCDFGLMR", k=2))
    base += f"{year % 100:02}{month:02}{day:02}{dice.choice('HM')}{dice.choice(('DF', 'JC', 'NL', 'PL'))}"
    base += "".join(dice.choices("BCDFGLMNPRST", k=3)) + "0"
    signs = "0123456789ABCDEFGHIJKLMNÑOPQRSTUVWXYZ"
    total = sum(signs.index(sign) * (18 - place) for place, sign in enumerate(base))
    return base + str(-total % 10)


def ip(dice: Random) -> str:
    """An address from the ranges for documentation (RFC 5737, RFC 3849)."""
    if dice.random() < 0.3:
        return f"2001:db8:{dice.randrange(1, 0xFFFF):x}::{dice.randrange(1, 0xFFFF):x}"
    return f"{dice.choice(('192.0.2', '198.51.100', '203.0.113'))}.{dice.randrange(1, 255)}"


def mac(dice: Random) -> str:
    """A locally administered hardware address."""
    octets = [0x02 | dice.randrange(64) << 2, *dice.choices(range(256), k=5)]
    return dice.choice((":", "-")).join(f"{octet:02x}" for octet in octets)


_VIN_SIGNS = "ABCDEFGHJKLMNPRSTUVWXYZ"  # neither I nor O nor Q
_VIN_VALUES = dict(zip(_VIN_SIGNS, map(int, "12345678123457923456789"), strict=True))


def vin(dice: Random) -> str:
    """Vehicle identification number with its check digit (ISO 3779, 49 CFR 565)."""

    def some(count: int) -> str:
        return "".join(dice.choices(_VIN_SIGNS + string.digits, k=count))

    base = f"{dice.choice(('1HG', 'WVW', '5YJ', '2T1'))}{some(5)}0{some(2)}{digits(dice, 6)}"
    weights = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
    check = sum(int(_VIN_VALUES.get(sign, sign)) * weight for sign, weight in zip(base, weights, strict=True)) % 11
    return base[:8] + ("X" if check == 10 else str(check)) + base[9:]


def imei(dice: Random) -> str:
    """Device identity: Luhn."""
    base = "35" + digits(dice, 12)
    return base + luhn(base)


def bitcoin(dice: Random) -> str:
    """An address of the first form."""
    return base58check(b"\0" + dice.randbytes(20))


def swift(dice: Random) -> str:
    """BIC: bank, country, place, branch."""
    bank = "".join(dice.choices("ABCDEFGHKLMN", k=4))
    country, place = dice.choice(("DE", "FR", "GB", "AE", "PL")), dice.choice(("FF", "PP", "2L", "WW"))
    return f"{bank}{country}{place}{dice.choice(('', 'XXX'))}"


def secret(dice: Random) -> str:
    """Keys and tokens in the forms that issuers publish; none was ever issued."""
    letters = string.ascii_letters + string.digits

    def some(count: int, of: str = letters) -> str:
        return "".join(dice.choices(of, k=count))

    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    token = f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part({'sub': some(8), 'iat': 1})}.{some(43)}"
    return dice.choice(
        (
            f"AKIA{some(16, string.ascii_uppercase + '234567')}",
            f"ghp_{some(36)}",
            f"sk-proj-{some(48)}",
            f"xoxb-{some(11, string.digits)}-{some(12, string.digits)}-{some(24)}",
            f"AIza{some(35)}",
            token,
        )
    )


def passport(dice: Random) -> str:
    """Letters and digits as many states number their passports; only words around it tell."""
    return dice.choice(
        (f"{dice.choice('CFGHJK')}{digits(dice, 8)}", digits(dice, 9, first="123456789"), f"AB{digits(dice, 7)}")
    )


def birth_date(dice: Random) -> str:
    """A date; only words around it tell whose."""
    year, month, day = born(dice)
    return dice.choice((f"{day:02}.{month:02}.{year}", f"{day:02}/{month:02}/{year}", f"{year}-{month:02}-{day:02}"))


NUMBERS: dict[str, Draw] = {
    "CARD": card,
    "EMAIL": email,
    "US_SSN": us_ssn,
    "IN_AADHAAR": in_aadhaar,
    "IN_PAN": in_pan,
    "ID_NIK": id_nik,
    "ID_NPWP": id_npwp,
    "SA_ID": sa_id,
    "AE_EMIRATES_ID": ae_id,
    "KZ_IIN": kz_iin,
    "BR_CPF": br_cpf,
    "BR_CNPJ": br_cnpj,
    "SG_NRIC": sg_nric,
    "ZA_ID": za_id,
    "MX_CURP": mx_curp,
    "IP": ip,
    "MAC": mac,
    "VIN": vin,
    "IMEI": imei,
    "BITCOIN": bitcoin,
    "SWIFT": swift,
    "SECRET": secret,
    "PASSPORT": passport,
    "BIRTH_DATE": birth_date,
}
