"""Kinds of identifiers: the words of policy, audit and tokens.

Kind("EMAIL").value    # as policy and audit write it
Mark.URL               # what else a token may stand for; never the result of detection
"""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What the detector can find. The order decides between findings of equal span and score."""

    SECRET = "SECRET"
    IBAN = "IBAN"
    CARD = "CARD"
    NATIONAL_ID = "NATIONAL_ID"
    EMAIL = "EMAIL"
    PHONE = "PHONE"
    IP = "IP"
    PERSON = "PERSON"


class Mark(StrEnum):
    """What a token can stand for besides a kind."""

    URL = "URL"  # a whole link that holds an identifier: see `links`
    TEXT = "TEXT"  # text of the user that looks like one of our tokens, kept as it is


LABELS: tuple[str, ...] = (*(kind.value for kind in Kind), *(mark.value for mark in Mark))
"""Every label a token can carry. None is the beginning of another followed by `_`, so a token has one reading."""
