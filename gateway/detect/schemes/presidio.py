"""Presidio's validators, kept inside: none of its reach for the network or the log, none of its weight.

    check = validator("PL_PESEL")
    check("44051401359")       # True

Where Presidio validates an identifier, its recognizer decides. Its `AnalyzerEngine` is not used: it runs every
recognizer over the whole text and skips a pattern that timed out, which would let text through unseen. Its packages
import spaCy, numpy and an HTTP client (2.5 s, the recognizers alone 0.1 s, measured 2026-11) and log candidate texts at
level ERROR; so the modules of its recognizers are loaded one by one and its loggers are silenced.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

_ROOT = "presidio_analyzer"
# What recognizers import from Presidio's top, in the order in which these need each other.
_BASE = {
    "analysis_explanation": "AnalysisExplanation",
    "recognizer_result": "RecognizerResult",
    "entity_recognizer": "EntityRecognizer",
    "local_recognizer": "LocalRecognizer",
    "pattern": "Pattern",
    "pattern_recognizer": "PatternRecognizer",
}
# Rule -> the module of its recognizer below `predefined_recognizers`, and the recognizer's class.
_USED = {
    "AU_ABN": ("country_specific.australia.au_abn_recognizer", "AuAbnRecognizer"),
    "AU_ACN": ("country_specific.australia.au_acn_recognizer", "AuAcnRecognizer"),
    "AU_TFN": ("country_specific.australia.au_tfn_recognizer", "AuTfnRecognizer"),
    "CA_SIN": ("country_specific.canada.ca_sin_recognizer", "CaSinRecognizer"),
    "CRYPTO_BITCOIN": ("generic.crypto_recognizer", "CryptoRecognizer"),
    "DE_HEALTH_INSURANCE": ("country_specific.germany.de_health_insurance_recognizer", "DeHealthInsuranceRecognizer"),
    "DE_ID_CARD": ("country_specific.germany.de_id_card_recognizer", "DeIdCardRecognizer"),
    "DE_SOCIAL_SECURITY": ("country_specific.germany.de_social_security_recognizer", "DeSocialSecurityRecognizer"),
    "DE_TAX_ID": ("country_specific.germany.de_tax_id_recognizer", "DeTaxIdRecognizer"),
    "ES_NIE": ("country_specific.spain.es_nie_recognizer", "EsNieRecognizer"),
    "ES_NIF": ("country_specific.spain.es_nif_recognizer", "EsNifRecognizer"),
    "FI_HETU": ("country_specific.finland.fi_personal_identity_code_recognizer", "FiPersonalIdentityCodeRecognizer"),
    "IN_AADHAAR": ("country_specific.india.in_aadhaar_recognizer", "InAadhaarRecognizer"),
    "IN_GSTIN": ("country_specific.india.in_gstin_recognizer", "InGstinRecognizer"),
    "IT_FISCAL_CODE": ("country_specific.italy.it_fiscal_code_recognizer", "ItFiscalCodeRecognizer"),
    "IT_VAT": ("country_specific.italy.it_vat_code", "ItVatCodeRecognizer"),
    "KR_BRN": ("country_specific.korea.kr_brn_recognizer", "KrBrnRecognizer"),
    "NG_NIN": ("country_specific.nigeria.ng_nin_recognizer", "NgNinRecognizer"),
    "PL_PESEL": ("country_specific.poland.pl_pesel_recognizer", "PlPeselRecognizer"),
    "SE_PERSONNUMMER": ("country_specific.sweden.se_personnummer_recognizer", "SePersonnummerRecognizer"),
    "SG_UEN": ("country_specific.singapore.sg_uen_recognizer", "SgUenRecognizer"),
    "TH_TNIN": ("country_specific.thai.th_tnin_recognizer", "ThTninRecognizer"),
    "TR_ID": ("country_specific.turkey.tr_national_id_recognizer", "TrNationalIdRecognizer"),
    "UK_NHS": ("country_specific.uk.uk_nhs_recognizer", "NhsRecognizer"),
    "US_DEA": ("country_specific.us.medical_license_recognizer", "MedicalLicenseRecognizer"),
    "US_NPI": ("country_specific.us.us_npi_recognizer", "UsNpiRecognizer"),
    "US_ROUTING": ("country_specific.us.aba_routing_recognizer", "AbaRoutingRecognizer"),
    "ZA_ID": ("country_specific.south_africa.za_id_number_recognizer", "ZaIdNumberRecognizer"),
}

for _name in ("presidio-analyzer", "decision_process"):
    _logger = logging.getLogger(_name)
    _logger.handlers = [logging.NullHandler()]
    _logger.propagate = False
    _logger.disabled = True


def validator(rule: str) -> Callable[[str], bool]:
    """Presidio's verdict on one kind of identifier.

    Returns:
        A function that is True for what Presidio confirms; of the few that it can only refuse, for what it does not.
    """
    module, name = _USED[rule]
    recognizer: Any = getattr(_MODULES[module], name)()
    if "validate_result" in vars(type(recognizer)):
        confirm = recognizer.validate_result
        return lambda text: confirm(text) is True  # None is "can't tell": a wrong check character of a fiscal code
    refuse = recognizer.invalidate_result
    return lambda text: not refuse(text)


def _load() -> dict[str, ModuleType]:
    """The modules of the recognizers in use; what was imported of Presidio before stays as it was."""
    spec = importlib.util.find_spec(_ROOT)
    if spec is None or spec.origin is None:
        raise ImportError(f"expected {_ROOT} to be installed, got none")
    folder = Path(spec.origin).parent
    before = _forget()
    try:
        root = _empty_package(_ROOT, folder)
        for module, name in _BASE.items():
            setattr(root, name, getattr(importlib.import_module(f"{_ROOT}.{module}"), name))
        for package in sorted({package for module, _ in _USED.values() for package in _packages(module)}):
            _empty_package(f"{_ROOT}.{package}", folder.joinpath(*package.split(".")))
        return {
            module: importlib.import_module(f"{_ROOT}.predefined_recognizers.{module}") for module, _ in _USED.values()
        }
    finally:
        _forget()
        sys.modules.update(before)


def _packages(module: str) -> list[str]:
    """The packages above `module`, the outermost first."""
    parts = ["predefined_recognizers", *module.split(".")[:-1]]
    return [".".join(parts[: length + 1]) for length in range(len(parts))]


def _empty_package(name: str, folder: Path) -> ModuleType:
    """A package that was never run, whose modules can be imported all the same."""
    package = ModuleType(name)
    package.__path__ = [str(folder)]
    sys.modules[name] = package
    return package


def _forget() -> dict[str, ModuleType]:
    """Take Presidio out of what is imported, and return it."""
    names = [name for name in sys.modules if name == _ROOT or name.startswith(f"{_ROOT}.")]
    return {name: sys.modules.pop(name) for name in names}


_MODULES = _load()
