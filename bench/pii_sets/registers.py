"""Numbers of companies in the registers of Central and Eastern Europe, valid and drawn at random.

REGISTERS["LT"].draw(random.Random(1))     # a legal entity's code

Written from the published rules; shares no code with the gateway. Read 2026-11.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from bench.pii_sets.checkdigits import iso7064_11_10, weighted
from bench.pii_sets.europe import Draw, digits


def _two_rounds(base: str, first: Sequence[int], second: Sequence[int]) -> str:
    rest = weighted(base, first) % 11
    if rest == 10:
        rest = weighted(base, second) % 11 % 10
    return base + str(rest)


def ro_cui(dice: Random) -> str:
    """CUI: five to nine digits, key 753217532 (Legea 359/2004)."""
    base = digits(dice, dice.randrange(5, 9), first="123456789")
    return base + str(weighted(base.rjust(9, "0"), (7, 5, 3, 2, 1, 7, 5, 3, 2)) * 10 % 11 % 10)


def ro_register(dice: Random) -> str:
    """Trade register: J, county, number, year."""
    return f"J{dice.randrange(1, 41):02}/{dice.randrange(10, 9999)}/{dice.randrange(1991, 2024)}"


def lt_company(dice: Random) -> str:
    """Juridinio asmens kodas: nine digits, two rounds of weights."""
    return _two_rounds(dice.choice("13") + digits(dice, 7), range(1, 9), (3, 4, 5, 6, 7, 8, 9, 1))


def ee_company(dice: Random) -> str:
    """Registrikood: eight digits, two rounds of weights."""
    return _two_rounds("1" + digits(dice, 6), range(1, 8), range(3, 10))


def lv_company(dice: Random) -> str:
    """Reģistrācijas numurs: eleven digits, the first 4 or 5."""
    while True:
        base = dice.choice(("4000", "4010", "5000", "4120")) + digits(dice, 6)
        check = (3 - weighted(base, (9, 1, 4, 8, 3, 10, 2, 5, 7, 6))) % 11
        if check < 10:
            return base + str(check)


def cz_company(dice: Random) -> str:
    """IČO: eight digits."""
    base = digits(dice, 7, first="0246")
    number = base + str((11 - weighted(base, range(8, 1, -1)) % 11) % 10)
    return dice.choice((number, f"{number[:3]} {number[3:5]} {number[5:]}"))


def bg_company(dice: Random) -> str:
    """ЕИК: nine digits, two rounds of weights."""
    return _two_rounds(dice.choice("12") + digits(dice, 7), range(1, 9), range(3, 11))


def rs_pib(dice: Random) -> str:
    """PIB: nine digits, ISO 7064 MOD 11,10."""
    base = "1" + digits(dice, 7)
    return base + iso7064_11_10(base)


def rs_number(dice: Random) -> str:
    """Matični broj: eight digits; no check digit is published."""
    return dice.choice(("07", "08", "17", "20", "21", "28", "66")) + digits(dice, 6)


def si_number(dice: Random) -> str:
    """Matična številka: seven digits, weights 7 to 2."""
    while True:
        base = digits(dice, 6, first="12356")
        check = -weighted(base, range(7, 1, -1)) % 11
        if check < 10:
            number = base + str(check)
            return dice.choice((number, number + "000"))


def hr_mbs(dice: Random) -> str:
    """MBS of the court register: nine digits from 01 to 13 on."""
    return f"{dice.choice((1, 3, 4, 5, 6, 8, 11)):02}0{digits(dice, 6)}"


def hu_register(dice: Random) -> str:
    """Cégjegyzékszám: court, form, number."""
    return f"{dice.randrange(1, 21):02}-{dice.choice((6, 9, 10)):02}-{digits(dice, 6)}"


def de_hrb(dice: Random) -> str:
    """Handelsregister: section, number."""
    section, count = dice.choice(("HRB", "HRA", "HRB")), dice.randrange(3, 7)
    letter = dice.choice(("", "", " B", " HB", " KI"))
    return f"{section}{dice.choice((' ', ' ', '', '-'))}{digits(dice, count, first='123456789')}{letter}"


def de_tax_number(dice: Random) -> str:
    """Steuernummer in the form of a state."""
    form = dice.choice(("999/999/99999", "99/999/99999", "999/9999/9999", "9999999999", "99999/99999", "99 999 99999"))
    return "".join(dice.choice("123456789") if sign == "9" else sign for sign in form)


def at_register(dice: Random) -> str:
    """Firmenbuchnummer: up to six digits and a letter."""
    number = digits(dice, dice.randrange(4, 7), first="123456789")
    return f"FN {number}{dice.choice(('', ' '))}{dice.choice('abdfghikmpstvwxyz')}"


def pl_krs(dice: Random) -> str:
    """KRS: ten digits with leading noughts."""
    return f"0000{digits(dice, 6)}"


def mk_number(dice: Random) -> str:
    """ЕМБС: seven digits."""
    return digits(dice, 7, first="4567")


def ba_jib(dice: Random) -> str:
    """JIB: thirteen digits, the first of them 4."""
    return "4" + digits(dice, 12)


def al_nuis(dice: Random) -> str:
    """NUIS: letter, eight digits, letter."""
    return f"{dice.choice('JKLM')}{digits(dice, 8)}{dice.choice(string.ascii_uppercase)}"


def gr_gemi(dice: Random) -> str:
    """ΓΕΜΗ: twelve digits."""
    return digits(dice, 9, first="0123") + "000"


@dataclass(frozen=True)
class Register:
    """A register: how its numbers are drawn, and sentences with one of them."""

    language: str
    draw: Draw
    sentences: tuple[str, ...]


REGISTERS = {
    "RO_CUI": Register(
        "ro",
        ro_cui,
        (
            "Furnizorul Agro Est SRL, CUI {value}, a depus oferta la termen.",
            "Cod unic de înregistrare: {value}",
            "Societatea are codul fiscal RO{value} și sediul în Cluj.",
            "C.U.I. {value}, capital social 200 lei",
            "Firma (CIF RO {value}) nu a plătit factura din martie.",
            "identificată prin cod de identificare fiscală {value}, reprezentată de administrator",
            "Reclamanta, având CUI RO {value}, solicită amânarea.",
        ),
    ),
    "RO_J": Register(
        "ro",
        ro_register,
        (
            "Înregistrată la Registrul Comerțului sub nr. {value}.",
            "Nr. Reg. Com. {value}, sediul în Iași",
            "Societatea {value} a fost radiată anul trecut.",
        ),
    ),
    "LT": Register(
        "lt",
        lt_company,
        (
            "UAB „Baltas lapas“, įmonės kodas {value}, adresas keičiasi.",
            "Juridinio asmens kodas: {value}",
            "Bendrovė (į. k. {value}) pateikė prašymą.",
            "Pirkėjas: UAB Rytas, kodas {value}",
            "Įm. kodas {value}, PVM mokėtoja",
        ),
    ),
    "EE": Register(
        "et",
        ee_company,
        (
            "OÜ Valge Leht, registrikood {value}, Tallinn.",
            "Äriregistri kood: {value}",
            "Ettevõte (rg-kood {value}) esitas taotluse.",
            "reg.nr {value}, juhatuse liige allkirjastas lepingu",
        ),
    ),
    "LV": Register(
        "lv",
        lv_company,
        (
            "SIA Baltā Lapa, reģistrācijas numurs {value}, Rīga.",
            "Vienotais reģistrācijas Nr. {value}",
            "Uzņēmums (reģ. nr. {value}) iesniedza pieteikumu.",
        ),
    ),
    "CZ": Register(
        "cs",
        cz_company,
        (
            "Bílý list s.r.o., IČO: {value}, se sídlem v Brně.",
            "IČ {value}, zapsaná v obchodním rejstříku",
            "dodavatel, identifikační číslo {value}, vystavil dobropis",
            "Firma s IČO {value} nezaplatila.",
        ),
    ),
    "BG": Register(
        "bg",
        bg_company,
        (
            "„Бял лист“ ЕООД, ЕИК {value}, седалище София.",
            "Единен идентификационен код: {value}",
            "дружеството с БУЛСТАТ {value} подаде молба",
        ),
    ),
    "RS_PIB": Register(
        "sr",
        rs_pib,
        (
            "Beli list d.o.o., PIB {value}, Novi Sad.",
            "ПИБ: {value}",
            "Poreski identifikacioni broj {value} je promenjen.",
        ),
    ),
    "RS_MB": Register(
        "sr",
        rs_number,
        ("Matični broj: {value}", "Beli list d.o.o., MB {value}, Beograd", "матични број {value}, Нови Сад"),
    ),
    "SI": Register(
        "sl",
        si_number,
        ("Matična številka: {value}", "Beli list d.o.o., matična št. {value}, Ljubljana", "mat. št.: {value}"),
    ),
    "HR": Register(
        "hr", hr_mbs, ("MBS: {value}", "upisano u sudski registar pod MBS {value}", "Društvo, MBS {value}.")
    ),
    "HU": Register(
        "hu",
        hu_register,
        ("Cégjegyzékszám: {value}", "Fehér Lap Kft. (Cg. {value}) ajánlatot adott.", "cégjegyzékszáma {value}, Szeged"),
    ),
    "DE_HR": Register(
        "de",
        de_hrb,
        (
            "Weißblatt GmbH, Amtsgericht Ulm, {value}",
            "eingetragen im Handelsregister unter {value}.",
            "Registernummer: {value}",
            "Die Gesellschaft ({value}) hat den Vertrag gekündigt.",
        ),
    ),
    "DE_STNR": Register(
        "de",
        de_tax_number,
        (
            "Steuernummer: {value}",
            "St.-Nr. {value}, Finanzamt Ulm",
            "Unsere Steuer-Nr. lautet {value}.",
            "StNr.: {value}",
        ),
    ),
    "AT": Register(
        "de",
        at_register,
        (
            "Weißblatt GmbH, {value}, Handelsgericht Wien",
            "Firmenbuchnummer: {value}",
            "Die Gesellschaft ({value}) hat den Vertrag gekündigt.",
        ),
    ),
    "PL_KRS": Register(
        "pl",
        pl_krs,
        ("Biała Kartka sp. z o.o., KRS {value}, Poznań", "numer KRS: {value}", "wpisana do rejestru pod nr {value}"),
    ),
    "MK": Register("mk", mk_number, ("ЕМБС: {value}", "Бел лист ДООЕЛ, ЕМБС {value}, Скопје")),
    "BA": Register("bs", ba_jib, ("JIB: {value}", "Bijeli list d.o.o., JIB {value}, Sarajevo", "ID broj: {value}")),
    "AL": Register("sq", al_nuis, ("NUIS: {value}", "Fleta e Bardhë sh.p.k., NIPT {value}, Tiranë")),
    "GR": Register("el", gr_gemi, ("Αριθμός ΓΕΜΗ: {value}", "Λευκό Φύλλο ΕΠΕ, ΓΕΜΗ {value}", "Αρ. Γ.Ε.ΜΗ. {value}")),
}
