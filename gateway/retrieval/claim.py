"""Claims that the database verifies: caller and permitted action, valid for a few seconds.

The service signs a claim with HMAC-SHA-256 after it has verified the gateway's JWS or the administrator's certificate.
The functions of the database verify it with a key that the role of the service cannot read. A claim names the database
by its identity, one action and one collection.

- A claim is valid for `VALID_S`. It can be used more than once in that time.
- Directory export and lists of a document are read at each use, so a revocation also stops a claim that was issued
  before it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import orjson

from .values import Caller

VALID_S = 15.0
"""Seconds. Longer than the statement timeout (10 s); functions.sql accepts at most 30."""
_CONTEXT = b"sovctl-retrieval-claim-v1\n"


class Action(StrEnum):
    """Permitted action of a claim."""

    SEARCH = "search"
    MANAGE = "manage"
    DIRECTORY = "directory"


@dataclass(frozen=True, slots=True)
class Claim:
    """Signed claim, the first two arguments of each function."""

    payload: str
    mac: bytes


class ClaimSigner:
    """Signs claims for one database.

    Args:
        key: 32 bytes.
        database: identity of the database.
    """

    def __init__(self, key: bytes, database: str) -> None:
        self._key = key
        self.database = database

    def search(self, caller: Caller, collection: str, *, now: float) -> Claim:
        """Return a claim of a caller to search a collection.

        Args:
            now: seconds since 1970.
        """
        content = {
            "subject": caller.subject,
            "tenant": caller.tenant,
            "groups": sorted(caller.groups),
            "collection": collection,
        }
        return self._signed(Action.SEARCH, content, now)

    def manage(self, collection: str, *, now: float) -> Claim:
        """Return a claim to write documents of a collection."""
        return self._signed(Action.MANAGE, {"collection": collection}, now)

    def directory(self, *, now: float) -> Claim:
        """Return a claim to replace the directory export."""
        return self._signed(Action.DIRECTORY, {}, now)

    def _signed(self, action: Action, content: Mapping[str, object], now: float) -> Claim:
        payload = orjson.dumps(
            {
                **content,
                "action": action,
                "database": self.database,
                "issued": now,
                "expires": now + VALID_S,
                "nonce": secrets.token_hex(8),
            }
        )
        return Claim(payload.decode(), hmac.new(self._key, _CONTEXT + payload, hashlib.sha256).digest())
