"""One hand-off as plain values. It holds ids, names from the settings, codes, counts and times; never a word of text.

waiting -> taken -> resolved       an operator takes it, then resolves it; nobody else can while he has it

case.as_row()       # for operators
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any

from ..tokens.conversation import Conversation

_ID = re.compile(r"ho-[0-9a-f]{32}")


class State(StrEnum):
    """Where a hand-off is."""

    WAITING = "waiting"
    TAKEN = "taken"
    RESOLVED = "resolved"

    @property
    def is_open(self) -> bool:
        """True while somebody has something to do."""
        return self is not State.RESOLVED


@dataclass(frozen=True, slots=True)
class HandoffCase:
    """One hand-off. Times are seconds since 1970."""

    id: str
    request_id: str
    owner: str
    """Keyed digest of who may fetch the answer."""
    tenant: str
    model: str
    surface: str
    conversation: str
    """Key of the one it belongs to, which is a keyed digest."""
    key_version: int
    reasons: tuple[str, ...]
    """Check and reason code, such as `citations:number-unsupported`."""
    counts: Mapping[str, int]
    """Of messages, tokens, and reasons."""
    made_at: int
    expires_at: int
    """When what was said can no longer be read, and the hand-off is forgotten."""
    state: State = State.WAITING
    taken_at: int | None = None
    taken_by: str | None = None
    resolved_at: int | None = None
    answer: str | None = None
    """What the vault calls the operator's answer; None without one."""

    @property
    def sealed_in(self) -> Conversation:
        """Where the vault has what was said."""
        return self.belongs_to.beside("hand-offs")

    @property
    def belongs_to(self) -> Conversation:
        """The conversation whose answer was held back."""
        return Conversation(self.tenant, self.conversation, True, self.key_version)

    def as_row(self) -> dict[str, Any]:
        """For operators."""
        return {
            "id": self.id,
            "request_id": self.request_id,
            "state": self.state.value,
            "since": self.made_at,
            "expires_at": self.expires_at,
            "tenant": self.tenant,
            "model": self.model,
            "surface": self.surface,
            "reasons": list(self.reasons),
            "counts": dict(self.counts),
            "taken_at": self.taken_at,
            "taken_by": self.taken_by,
        }


def new_id() -> str:
    """An id that nobody can guess."""
    return f"ho-{secrets.token_hex(16)}"


def is_id(text: str) -> bool:
    """True for what could be one."""
    return _ID.fullmatch(text) is not None


def owner_of(secret: bytes, *, tenant: str, client: str) -> str:
    """The digest of a client, in whose place nobody else can come.

    Args:
        secret: of the key version under which the conversation began.
    """
    return hmac.digest(secret, f"sovctl hand-off owner v1\0{tenant}\0{client}".encode(), sha256).hex()
