"""Kinds of identifiers: the words of policy, audit and tokens.

A kind is what a site may want a policy row of its own for; which scheme it was (PESEL, IIN, CPF) stands in
`Finding.rule`.

    EntityType("EMAIL").value    # as policy and audit write it
    Mark.URL               # what else a token may stand for; never the result of detection
"""

from __future__ import annotations

from enum import StrEnum


class EntityType(StrEnum):
    """What the detector can find. The order decides between findings of equal span and score."""

    SECRET = "SECRET"  # keys, tokens, passwords
    IBAN = "IBAN"
    CARD = "CARD"
    CRYPTO = "CRYPTO"  # wallet addresses
    NATIONAL_ID = "NATIONAL_ID"  # numbers of persons: national, social security, personal tax numbers
    HEALTH_ID = "HEALTH_ID"  # numbers that say somebody is a patient or insured
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
    PERSON = "PERSON"
    ORG = "ORG"


class Mark(StrEnum):
    """What a token can stand for besides a kind."""

    URL = "URL"  # a whole link that holds an identifier: see `links`
    TEXT = "TEXT"  # text of the user that looks like one of our tokens, kept as it is


LABELS: tuple[str, ...] = (*(entity_type.value for entity_type in EntityType), *(mark.value for mark in Mark))
"""Every label a token can carry. None is the beginning of another followed by `_`, so a token has one reading."""
