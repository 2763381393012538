"""Entity types: the labels of identifiers in policy, audit records and tokens.

A site may want its own policy row for each entity type. `Finding.rule` names the scheme of a finding (PESEL, IIN, CPF).

    EntityType("EMAIL").value    # as in policy and audit records
    Mark.URL                     # other values of tokens; the detector does not return them
"""

from __future__ import annotations

from enum import StrEnum


class EntityType(StrEnum):
    """Entity types of the detector. The order is the precedence of findings of equal span and score."""

    __hash__ = str.__hash__  # a member equals its text; the hash of `Enum` takes five times as long

    SECRET = "SECRET"  # keys, tokens, passwords
    IBAN = "IBAN"
    CARD = "CARD"
    CRYPTO = "CRYPTO"  # wallet addresses
    NATIONAL_ID = "NATIONAL_ID"  # numbers of persons: national, social security, personal tax numbers
    HEALTH_ID = "HEALTH_ID"  # numbers of patients and of health insurance
    TAX_ID = "TAX_ID"  # tax and register numbers that companies carry as well
    PASSPORT = "PASSPORT"
    DRIVING_LICENCE = "DRIVING_LICENCE"
    ACCOUNT = "ACCOUNT"  # bank accounts other than IBANs, with their bank's number; customers' and members' numbers
    SWIFT = "SWIFT"
    VEHICLE = "VEHICLE"  # vehicle identification numbers
    IMEI = "IMEI"
    EMAIL = "EMAIL"
    PHONE = "PHONE"
    IP = "IP"
    MAC = "MAC"
    BIRTH_DATE = "BIRTH_DATE"
    ADDRESS = "ADDRESS"  # postal addresses: street, house number, postcode, city
    PERSON = "PERSON"
    ORG = "ORG"
    CUSTOM = "CUSTOM"  # of a site's own recognizers; `Finding.rule` is the name of the recognizer
    SPECIAL_CATEGORY = "SPECIAL_CATEGORY"  # GDPR Art. 9 and 10, next to an identified person; has no text of its own


class Mark(StrEnum):
    """Labels of tokens in addition to the entity types."""

    URL = "URL"  # a whole link that holds an identifier: see `links`
    TEXT = "TEXT"  # text of the user that looks like one of our tokens, kept as it is


TEXT_TYPES: tuple[EntityType, ...] = tuple(each for each in EntityType if each is not EntityType.SPECIAL_CATEGORY)
"""Entity types whose findings are a part of a text, so that a token can replace it."""
IDENTIFYING: frozenset[EntityType] = frozenset(
    {
        *(EntityType.PERSON, EntityType.NATIONAL_ID, EntityType.HEALTH_ID, EntityType.PASSPORT),
        *(EntityType.DRIVING_LICENCE, EntityType.BIRTH_DATE, EntityType.EMAIL, EntityType.PHONE, EntityType.ADDRESS),
        *(EntityType.ACCOUNT, EntityType.IBAN, EntityType.CARD, EntityType.VEHICLE),
        EntityType.CUSTOM,
    }
)
"""Entity types that identify a person, and not only a company or a device."""
LABELS: tuple[str, ...] = (*(entity_type.value for entity_type in EntityType), *(mark.value for mark in Mark))
"""Every label a token can carry. None is the beginning of another followed by `_`, so a token has one reading."""
