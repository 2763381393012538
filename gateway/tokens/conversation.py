"""Identifies the conversation of a request. Tokens are constant within a conversation and differ between
conversations.

A client can name the conversation in the header `x-sovctl-conversation`. Otherwise it is derived from its beginning:
tenant, client, end user (`user`) and every message up to the first one of a user. Later turns repeat these, so they
keep their tokens. Two chats of one client with the same beginning share tokens. Therefore a derived conversation
restores only values of the same request, and a named one also values of earlier requests.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from .hmac_key import HmacKey

HEADER = "x-sovctl-conversation"
_NAME = re.compile(r"[!-~]{1,128}")


class Conversation(NamedTuple):
    """One conversation of one tenant. Contains no name and no text: `key` is a keyed digest of them."""

    tenant: str
    key: str
    """64 hex digits; safe to store and to audit."""
    is_named: bool
    """The client named it, so values of its earlier requests may be restored."""
    key_version: int = 1
    """Version of the token key that computed `key` and issues its tokens."""

    def related_location(self, purpose: str) -> Conversation:
        """Return a separate vault location for data related to this conversation; it is erased together with it."""
        key = hashlib.sha256(f"sovctl beside v1\0{purpose}\0{self.key}".encode()).hexdigest()
        return Conversation(self.tenant, key, True, self.key_version)


def conversation_of(
    beginning: Sequence[Any], *, header: str | None, tenant: str, client: str, secret: HmacKey, key_version: int = 1
) -> Conversation:
    """Return the conversation of a request.

    Args:
        beginning: its beginning, from the surface; plain values.
        header: value of `HEADER`; None if absent.
        secret: key of the digest.
        key_version: version of that key.

    Raises:
        ValueError: the header is longer than 128 characters, or not printable ASCII without spaces.
    """
    if header is not None:
        if not _NAME.fullmatch(header):
            raise ValueError("expected 1 to 128 printable ASCII characters without spaces")
        return Conversation(tenant, _keyed(secret, ["named", tenant, client, header]), True, key_version)
    return Conversation(tenant, _keyed(secret, ["derived", tenant, client, beginning]), False, key_version)


def _keyed(secret: HmacKey, value: Any) -> str:
    content = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    return secret.digest(b"sovctl conversation v1" + content).hex()
