"""Which conversation does a request belong to? Its tokens are the same all through it, and nobody else's.

A client that knows says so in the header `x-sovctl-conversation`. Otherwise it is told by how the conversation began:
tenant, client, end user (`user`) and every message up to the first one of a user. Later turns repeat these, so they
keep their tokens. Two chats of one client that begin alike share tokens; therefore a conversation that was derived
restores only what its own request sent, and only a named one also what it sent before.
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
    """One conversation of one tenant. Holds no name and no text: `key` is a keyed digest of them."""

    tenant: str
    key: str
    """64 hex digits; safe to store and to audit."""
    is_named: bool
    """The client named it, so it may rely on what it sent in earlier requests."""
    key_version: int = 1
    """Of the token key that made `key` and makes its tokens."""

    def beside(self, purpose: str) -> Conversation:
        """A place in the vault for what belongs to this conversation and is no part of it; erased together with it."""
        key = hashlib.sha256(f"sovctl beside v1\0{purpose}\0{self.key}".encode()).hexdigest()
        return Conversation(self.tenant, key, True, self.key_version)


def conversation_of(
    beginning: Sequence[Any], *, header: str | None, tenant: str, client: str, secret: HmacKey, key_version: int = 1
) -> Conversation:
    """The conversation of a request.

    Args:
        beginning: how it began, as the surface tells; plain values.
        header: value of `HEADER`, when there is one.
        secret: key of the digest.
        key_version: of that key.

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
