"""National identifiers as a table: a recognizer for each, and what must stand near the weak ones.

An identifier whose form or two check digits make chance hits rare is believed alone. One that is only digits with a
single check digit (one number in ten passes) needs a word of its own near, or order numbers would become people.
Presidio's recognizers do the work where it has them; the others are ours, with `checksums`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from presidio_analyzer.predefined_recognizers import (
    CaSinRecognizer,
    DeSocialSecurityRecognizer,
    DeTaxIdRecognizer,
    EsNieRecognizer,
    EsNifRecognizer,
    FiPersonalIdentityCodeRecognizer,
    InAadhaarRecognizer,
    InPanRecognizer,
    ItFiscalCodeRecognizer,
    KrRrnRecognizer,
    NhsRecognizer,
    PlPeselRecognizer,
    SePersonnummerRecognizer,
    ThTninRecognizer,
    TrNationalIdRecognizer,
    UkNinoRecognizer,
    UsItinRecognizer,
    UsSsnRecognizer,
    ZaIdNumberRecognizer,
)

from sovctl.gateway.detect import checksums
from sovctl.gateway.detect.candidates import Anchor
from sovctl.gateway.detect.judge import NOT_PERSONAL, Rule
from sovctl.gateway.detect.presidio import CheckedRecognizer, Pattern
from sovctl.gateway.kinds import Kind


def _words(*words: str) -> re.Pattern[str]:
    return re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, words)) + r")(?!\w)", re.IGNORECASE)


def _compact(text: str) -> str:
    return "".join(character for character in text if character.isalnum()).upper()


def _rule(recognizer: Any, digits: int, context: re.Pattern[str] | None = None) -> Rule:
    return Rule(
        Kind.NATIONAL_ID,
        recognizer,
        Anchor.DIGITS,
        _compact,
        min_digits=digits,
        min_score=0.5 if context is None else 0.01,
        context=context,
        unless=NOT_PERSONAL,
    )


def _theirs(recognizer: Any, digits: int, context: re.Pattern[str] | None = None) -> Rule:
    recognizer.name = recognizer.supported_entities[0]
    return _rule(recognizer, digits, context)


def _ours(
    name: str, digits: int, pattern: str, check: Callable[[str], bool], context: re.Pattern[str] | None = None
) -> Rule:
    return _rule(CheckedRecognizer(name, [rf"(?<![0-9A-Za-z]){pattern}(?![0-9A-Za-z])"], check), digits, context)


def _plain(name: str, pattern: str) -> list[Any]:
    return [Pattern(name, pattern, 0.5)]


def national_rules() -> list[Rule]:
    """Every rule for kind NATIONAL_ID; a fresh list."""
    return [
        # By Presidio. Patterns are replaced where its own match inside longer numbers.
        _theirs(DeSocialSecurityRecognizer(), 11),
        _theirs(DeTaxIdRecognizer(), 11),
        _theirs(EsNieRecognizer(), 7),
        _theirs(EsNifRecognizer(), 7),
        _theirs(FiPersonalIdentityCodeRecognizer(patterns=FiPersonalIdentityCodeRecognizer.PATTERNS[:1]), 9),
        _theirs(InAadhaarRecognizer(patterns=_plain("grouped", r"\b[0-9]{4}[- :][0-9]{4}[- :][0-9]{4}\b")), 12),
        _theirs(InAadhaarRecognizer(), 12, _words("aadhaar", "aadhar", "uidai", "uid")),
        _theirs(InPanRecognizer(patterns=InPanRecognizer.PATTERNS[:1]), 4),
        _theirs(ItFiscalCodeRecognizer(), 7),
        _theirs(KrRrnRecognizer(), 13),
        _theirs(
            PlPeselRecognizer(
                patterns=_plain(
                    "alone", r"(?<!\d)[0-9]{2}(?:[02468][1-9]|[13579][012])(?:0[1-9]|[12][0-9]|3[01])[0-9]{5}(?!\d)"
                )
            ),
            11,
        ),
        _theirs(SePersonnummerRecognizer(patterns=SePersonnummerRecognizer.PATTERNS[:1]), 10),
        _theirs(ThTninRecognizer(), 13),
        _theirs(TrNationalIdRecognizer(), 11),
        _theirs(UkNinoRecognizer(), 6),
        _theirs(UsItinRecognizer(), 9),
        _theirs(UsSsnRecognizer(), 9),
        _theirs(UsSsnRecognizer(), 9, _words("ssn", "social security", "taxpayer")),
        _theirs(ZaIdNumberRecognizer(), 13),
        _theirs(CaSinRecognizer(), 9),
        _theirs(CaSinRecognizer(), 9, _words("sin", "social insurance")),
        _theirs(NhsRecognizer(), 10, _words("nhs", "patient")),
        # Ours. Digits, pattern, check, and a context where one check digit is all there is.
        _ours("AE_EMIRATES_ID", 15, r"784[- ]?\d{4}[- ]?\d{7}[- ]?\d", checksums.luhn),
        _ours("BE_REGISTER", 11, r"\d{2}\.?\d{2}\.?\d{2}[- ]?\d{3}[. ]?\d{2}", checksums.be_register),
        _ours("BR_CPF", 11, r"\d{3}\.?\d{3}\.?\d{3}[- ]?\d{2}", checksums.br_cpf),
        _ours("CH_AHV", 13, r"756[. ]?\d{4}[. ]?\d{4}[. ]?\d{2}", checksums.ch_ahv),
        _ours("CZ_BIRTH_NUMBER", 10, r"\d{6}/\d{4}", checksums.cz_birth_number),
        _ours(
            "FR_NIR",
            13,
            r"[12] ?\d{2} ?(?:0[1-9]|1[0-2]|[2-9]\d) ?(?:\d{2}|2[AB]) ?\d{3} ?\d{3} ?\d{2}",
            checksums.fr_nir,
        ),
        _ours("ID_NIK", 16, r"\d{16}", checksums.id_nik),
        _ours("KZ_IIN", 12, r"\d{12}", checksums.kz_iin),
        _ours("NL_BSN", 9, r"\d{4}[. ]?\d{2}[. ]?\d{3}", checksums.nl_bsn, _words("bsn", "burgerservicenummer")),
        _ours("NO_BIRTH_NUMBER", 11, r"\d{6} ?\d{5}", checksums.no_birth_number),
        _ours("RO_CNP", 13, r"[1-9]\d{12}", checksums.ro_cnp),
        _ours("RU_INN", 12, r"\d{12}", checksums.ru_inn),
        _ours("RU_INN", 10, r"\d{10}", checksums.ru_inn, _words("inn", "инн", "tax")),
        _ours("RU_SNILS", 11, r"\d{3}[- ]?\d{3}[- ]?\d{3}[- ]?\d{2}", checksums.ru_snils),
        _ours("SA_ID", 10, r"[12]\d{9}", checksums.luhn, _words("saudi", "iqama", "national id", "id number")),
        _ours("SG_NRIC", 7, r"[STFGMstfgm]\d{7}[A-Za-z]", checksums.sg_nric),
    ]
