"""Spellings and contexts that other sets lack: list lines, OCR errors, gaps, series, registers, labels, passwords.

    for document in unseen(per_type=60, seed=7): ...      # {"text", "language", "spans"}
    for document in unseen_clean(documents=120, seed=7): ...      # the same, without spans

`words/unseen.yaml` has the sentences. A type is `KIND~class`; the class decides the bar.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from bench.pii_sets.checkdigits import luhn
from bench.pii_sets.documents import Page
from bench.pii_sets.europe import born, digits, pl_nip, pl_pesel
from bench.pii_sets.registers import REGISTERS
from bench.pii_sets.words.reader import words_of
from bench.pii_sets.world import iban

CLASSES = ("list-line", "ocr", "gap", "series", "register", "vin", "thai", "label", "prose", "luhn")
_SLIPS = {"1": "lI", "0": "O", "8": "B", "5": "S"}
_FEWEST_SLIPS = 2
_CONSONANTS = "BCDFGHJKLMNPRTVWXYZ"
_THAI = "กขคงจฉชฌญฎฐณดตทธนบผพฟภมยรลวศษสหอฮ"
_Made = tuple[str, str]


def _card(dice: Random) -> str:
    base = dice.choice(("4", "51", "55", "2221")) + "".join(dice.choices(string.digits, k=14))
    base = base[:15]
    return base + luhn(base)


def _ssn(dice: Random) -> str:
    area = dice.choice([*range(1, 666), *range(667, 900)])
    return f"{area:03}-{dice.randrange(1, 100):02}-{dice.randrange(1, 10000):04}"


def _grouped(number: str, dice: Random) -> str:
    sign = dice.choice("- ")
    return sign.join(number[at : at + 4] for at in range(0, len(number), 4))


def _date(dice: Random) -> str:
    year, month, day = born(dice)
    return dice.choice((f"{day:02}.{month:02}.{year}", f"{year}-{month:02}-{day:02}", f"{day:02}/{month:02}/{year}"))


def _slipped(number: str, dice: Random, *, begin: int = 0) -> str:
    places = [at for at, sign in enumerate(number) if sign in _SLIPS and at >= begin]
    for at in dice.sample(places, min(len(places), dice.randrange(1, _FEWEST_SLIPS + 1))):
        number = f"{number[:at]}{dice.choice(_SLIPS[number[at]])}{number[at + 1 :]}"
    return number


def _with_slips(draw: Callable[[Random], str], *, begin: int = 0) -> Callable[[Random], str]:
    def slipped(dice: Random) -> str:
        while (changed := _slipped(number := draw(dice), dice, begin=begin)) == number:
            pass
        return changed

    return slipped


def _plain(draw: Callable[[Random], str]) -> Callable[[Random], str]:
    return lambda dice: "".join(filter(str.isalnum, draw(dice)))


_SLIPPING: dict[str, Callable[[Random], str]] = {
    "PESEL": _with_slips(pl_pesel),
    "NIP": _with_slips(pl_nip),
    "IBAN": _with_slips(lambda dice: iban(dice.choice(("DE", "PL", "GB", "NL", "FR")))(dice), begin=2),
    "SSN": _with_slips(_ssn),
    "CARD": _with_slips(lambda dice: dice.choice((str, lambda n: _grouped(n, dice)))(_card(dice))),
    "BIRTH_DATE": _with_slips(_date),
}


def _gapped(number: str, dice: Random) -> str:
    """Blank lines, single digits, or both in one number."""
    style = dice.randrange(5)
    middle = dice.randrange(3, len(number) - 3)
    if style == 0:
        return dice.choice(" -").join(number)
    if style == 1:
        return number[:middle] + dice.choice(("\n\n", "\r\n\r\n", "\n \n", "\n\n\n")) + number[middle:]
    if style == 2:
        return " ".join(number[:middle]) + dice.choice(("\n", "  ")) + " ".join(number[middle:])
    if style == 3:
        return number[:middle] + " " + " ".join(number[middle:])
    return "  ".join(number)


_GAPPED: dict[str, Callable[[Random], str]] = {
    "PESEL": pl_pesel,
    "NIP": _plain(pl_nip),
    "IBAN": lambda dice: _plain(iban(dice.choice(("DE", "PL"))))(dice),
    "SSN": _plain(_ssn),
    "CARD": _card,
}


def _account(dice: Random) -> str:
    return dice.choice(
        (
            f"{digits(dice, 2)}-{digits(dice, 6)}",
            f"{digits(dice, 3)} {digits(dice, 5)}",
            f"{digits(dice, 4)} {digits(dice, 4)} {digits(dice, 2)}",
            f"{digits(dice, 3)}.{digits(dice, 3)}.{digits(dice, 3)}",
            digits(dice, 8),
        )
    )


def _phone(dice: Random) -> str:
    return dice.choice(
        (
            f"({dice.randrange(201, 989)}) 555-{digits(dice, 4)}",
            f"020 7946 0{digits(dice, 3)}",
            f"0171 {digits(dice, 7)}",
        )
    )


_LISTED: dict[str, Callable[[Random], str]] = {
    "ACCOUNT": _account,
    "CARD": lambda dice: _grouped(_card(dice), dice),
    "SSN": _ssn,
    "PHONE": _phone,
    "PASSPORT": lambda dice: f"{digits(dice, 2)} {digits(dice, 7)}",
    "NIP": pl_nip,
    "TAX": lambda dice: f"{digits(dice, 2)}/{digits(dice, 3)}/{digits(dice, 5)}",
}


def _series(dice: Random) -> _Made:
    letters = "".join(dice.choices(_CONSONANTS, k=3))
    kind = dice.randrange(6)
    if kind == 0:
        return "ID_CARD", f"{letters}{dice.choice((' ', ''))}{digits(dice, 6)}"
    if kind == 1:
        return "PASSPORT", f"{letters[:2]}{dice.choice((' ', '-', ''))}{digits(dice, 7)}"
    if kind == 2:
        number = digits(dice, 9)
        return "UID", f"CHE-{number[:3]}.{number[3:6]}.{number[6:]}"
    if kind == 3:
        return "VAT", f"{dice.choice(('PT', 'ES', 'HR', 'RO'))}/{digits(dice, 9)}"
    if kind == 4:
        return "LICENCE", f"DL-{dice.choice((digits(dice, 13), digits(dice, 8)))}"
    return "LICENCE", f"{letters[:2]}/{digits(dice, 7)}"


_VIN = {character: value for value, character in enumerate("0123456789")} | dict(
    zip("ABCDEFGHJKLMNPRSTUVWXYZ", (*range(1, 9), *range(1, 6), 7, 9, *range(2, 10)), strict=True)
)


def _vin(dice: Random) -> str:
    base = list(dice.choice(("WVW", "1HG", "WDB", "VF1", "TMB", "SAL", "JTD")) + "".join(
        dice.choices("ABCDEFGHJKLMNPRSTUVWXYZ0123456789", k=10)
    ) + digits(dice, 4))  # fmt: skip
    if dice.random() < 0.5:
        base[8] = "0"
        rest = sum(_VIN[c] * w for c, w in zip(base, (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2), strict=True))
        base[8] = "0123456789X"[rest % 11]
    vin, sign = "".join(base), dice.choice(" -")
    cuts = dice.choice(((3, 9), (3, 9, 11), (3, 8, 9, 11), (4, 8, 12, 16), (3, 6, 9, 12, 15), (8,), (9,), (11,)))
    return sign.join(vin[first:last] for first, last in zip((0, *cuts), (*cuts, 17), strict=True))


def _thai(dice: Random) -> _Made:
    year, month, day = born(dice)
    year += 543
    known = words_of("unseen")["thai"]
    kind = dice.randrange(3)
    if kind == 0:
        name = dice.choice(known["months"])[month - 1]
        return "BIRTH_DATE", dice.choice(
            (
                f"{day} {name} {year}",
                f"{day} {name} พ.ศ. {year}",
                f"{day:02}/{month:02}/{year}",
                f"{day}-{month}-{year}",
            )
        )
    if kind == 1:
        letters = "".join(dice.choices(_THAI, k=2))
        number = str(dice.randrange(1, 10_000))
        return "PLATE", f"{dice.choice(('', '1', '5', '8'))}{letters}{dice.choice((' ', '-', ''))}{number}"
    number = digits(dice, 10)
    return "STUDENT", dice.choice(
        (number, f"{number[:8]}-{number[8]}", number[:8], f"{number[:2]}-{number[2:6]}-{number[6:]}")
    )


def _licence(dice: Random) -> str:
    letters = "".join(dice.choices(string.ascii_uppercase, k=3))
    return dice.choice(
        (
            digits(dice, dice.randrange(7, 11)),
            f"{letters[:2]}{digits(dice, 7)}",
            f"{letters[:2]} {digits(dice, 6)}",
            f"{letters[0]}{digits(dice, 3)}-{digits(dice, 4)}-{digits(dice, 4)}",
            f"{digits(dice, 5)}/{digits(dice, 2)}/{digits(dice, 4)}",
            f"{digits(dice, 2)} {digits(dice, 2)} {digits(dice, 6)}",
        )
    )


def _policy(dice: Random) -> str:
    letters = "".join(dice.choices(string.ascii_uppercase, k=3))
    return dice.choice(
        (
            digits(dice, dice.randrange(7, 12)),
            f"{letters}-{digits(dice, 7)}",
            f"{letters[:2]}{digits(dice, 8)}",
            f"{digits(dice, 3)}-{digits(dice, 4)}-{digits(dice, 3)}",
            f"{digits(dice, 2)}.{digits(dice, 3)}.{digits(dice, 4)}",
            f"{letters} {digits(dice, 10)}",
        )
    )


def _password(dice: Random) -> str:
    word = dice.choice(("Winter", "Sommer", "Tiger", "Praha", "blue", "Monkey", "Zima", "hunter", "Karibu", "orbit"))
    bent = word.replace("i", dice.choice("i!1")).replace("o", dice.choice("o0")).replace("a", dice.choice("a@"))
    return dice.choice(
        (
            f"{bent}{dice.randrange(10, 2030)}{dice.choice(('', '!', '#', '$'))}",
            f"{bent}_{dice.randrange(10, 99)}!",
            "".join(dice.choices(string.ascii_letters + string.digits + "!#%*+", k=10)) + "7k",
        )
    )


def _cases(dice: Random, per_type: int) -> Iterator[tuple[str, str, str, str]]:
    """Language, type, value and sentence of each document."""
    known = words_of("unseen")
    listed = known["list-line"]
    for kind, draw in _LISTED.items():
        for _ in range(2 * per_type):
            yield (
                "en",
                f"{kind}~list-line",
                draw(dice),
                dice.choice(listed["labels"][kind]) + "{value}" + dice.choice(listed["after"]),
            )
    for kind, draw in _SLIPPING.items():
        for _ in range(2 * per_type):
            yield "en", f"{kind}~ocr", draw(dice), dice.choice(known["ocr"][kind])
    for kind, draw in _GAPPED.items():
        for _ in range(2 * per_type):
            yield "en", f"{kind}~gap", _gapped(draw(dice), dice), dice.choice(known["ocr"][kind])
    for _ in range(6 * per_type):
        kind, value = _series(dice)
        yield "en", f"{kind}~series", value, dice.choice(known["series"][kind])
    for name, register in REGISTERS.items():
        for _ in range(2 * per_type):
            yield register.language, f"{name}~register", register.draw(dice), dice.choice(register.sentences)
    for _ in range(2 * per_type):
        yield "en", "VIN~vin", _vin(dice), dice.choice(known["vin"])
    for _ in range(6 * per_type):
        kind, value = _thai(dice)
        yield "th", f"{kind}~thai", value, dice.choice(known["thai"][kind])
    for kind, draw in (("LICENCE", _licence), ("POLICY", _policy)):
        for language, labels in known["labels"][kind].items():
            for _ in range(per_type):
                frame = dice.choice(known["labels"]["frames"])
                yield language, f"{kind}~label", draw(dice), frame.replace("{label}", dice.choice(labels))
    for _ in range(6 * per_type):
        yield "en", "PASSWORD~prose", _password(dice), dice.choice(known["passwords"])
    for _ in range(4 * per_type):
        number = _card(dice)
        wrong = number[:-1] + str((int(number[-1]) + dice.randrange(1, 10)) % 10)
        yield "en", "CARD~luhn", dice.choice((wrong, _grouped(wrong, dice))), dice.choice(known["luhn"])


def unseen(*, per_type: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield one document for each case."""
    dice = Random(f"{seed} unseen")
    for language, kind, value, sentence in _cases(dice, per_type):
        page = Page(language)
        if dice.random() < 0.3:
            page.say(dice.choice(words_of("unseen")["before"]) + dice.choice(("\n", " ")))
        page.add(sentence, value, kind)
        yield page.document()


def unseen_clean(*, documents: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield texts with numbers, codes and words as those of `unseen`, but without identifiers."""
    dice = Random(f"{seed} unseen clean")
    for language, sentences in words_of("unseen")["clean"].items():
        for _ in range(documents):
            page = Page(language)
            page.say("\n".join(_numbered(dice.choice(sentences), dice) for _ in range(dice.randrange(2, 6))))
            yield page.document()


def _numbered(sentence: str, dice: Random) -> str:
    """Each `#` of a sentence is a random digit, each `@` a random capital."""
    return "".join(
        dice.choice("123456789") if sign == "#" else dice.choice(_CONSONANTS) if sign == "@" else sign
        for sign in sentence
    )


__all__ = ["CLASSES", "unseen", "unseen_clean"]
