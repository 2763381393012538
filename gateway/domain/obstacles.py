"""Obstacles: contents of a request that cannot be inspected or rewritten. Policy keeps it on-prem, or rejects it."""

from __future__ import annotations

from enum import StrEnum


class Obstacle(StrEnum):
    """A content that cannot be inspected or rewritten."""

    IMAGE = "image"
    AUDIO = "audio"
    FILE = "file"
    SIGNED = "signed-thinking"  # a model's thinking that its maker signed or hid
    UNKNOWN_PART = "unknown-part"
    DATA_URI = "data-uri"
    ENCODED = "encoded"  # a long run that only a decoder could read
    KEY = "key"  # an identifier as the key of an object
    SCHEMA = "schema"  # an identifier in a pattern or a format, which can't be replaced there
    TOKEN_IDS = "token-ids"  # a prompt as numbers that only its model can read
    NUMBER = "number"  # an identifier as a JSON number
    CROWD = "too-many-identifiers"  # more different ones, or values of keys, than can be searched in time
