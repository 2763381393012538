"""Entity types: the labels of identifiers in policy, audit records and tokens.

A site may want its own policy row for each entity type. `Finding.rule` names the scheme of a finding (PESEL, IIN, CPF).

    EntityType("EMAIL").value    # as in policy and audit records
    Mark.URL                     # other values of tokens; the detector does not return them
"""

from __future__ import annotations

from enum import StrEnum


class EntityType(StrEnum):
    """Entity types of the detector. The order is the precedence of findings of equal span and score."""

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


class Mark(StrEnum):
    """Labels of tokens in addition to the entity types."""

    URL = "URL"  # a whole link that holds an identifier: see `links`
    TEXT = "TEXT"  # text of the user that looks like one of our tokens, kept as it is


LABELS: tuple[str, ...] = (*(entity_type.value for entity_type in EntityType), *(mark.value for mark in Mark))
"""Every label a token can carry. None is the beginning of another followed by `_`, so a token has one reading."""
