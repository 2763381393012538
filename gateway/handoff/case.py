"""One hand-off as plain values: ids, names from the settings, codes, counts and times; no text.

waiting -> taken -> resolved       one operator takes it, and only this one can resolve it

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
    """State of a hand-off."""

    WAITING = "waiting"
    TAKEN = "taken"
    RESOLVED = "resolved"

    @property
    def is_open(self) -> bool:
        """True until it is resolved."""
        return self is not State.RESOLVED


@dataclass(frozen=True, slots=True)
class HandoffCase:
    """One hand-off. Times are seconds since 1970."""

    id: str
    request_id: str
    owner: str
    """Keyed digest of the principal that may fetch the answer."""
    tenant: str
    model: str
    surface: str
    conversation: str
    """Key of the conversation whose answer was withheld, which is a keyed digest."""
    key_version: int
    reasons: tuple[str, ...]
    """Check and reason code, such as `citations:number-unsupported`."""
    counts: Mapping[str, int]
    """Number of messages, tokens and reasons."""
    made_at: int
    expires_at: int
    """Time when the transcript expires and the hand-off is deleted."""
    state: State = State.WAITING
    taken_at: int | None = None
    taken_by: str | None = None
    resolved_at: int | None = None
    answer: str | None = None
    """Name of the operator's answer in the vault; None without one."""

    @property
    def sealed_in(self) -> Conversation:
        """Conversation of the vault that holds the transcript."""
        return self.belongs_to.related_location("hand-offs")

    @property
    def belongs_to(self) -> Conversation:
        """Conversation whose answer was withheld."""
        return Conversation(self.tenant, self.conversation, True, self.key_version)

    def as_row(self) -> dict[str, Any]:
        """Return the values that operators see."""
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
    """Return a random id of 128 bits."""
    return f"ho-{secrets.token_hex(16)}"


def is_id(text: str) -> bool:
    """Return whether `text` has the form of an id."""
    return _ID.fullmatch(text) is not None


def owner_of(secret: bytes, *, tenant: str, client: str) -> str:
    """Return the keyed digest of a client.

    Args:
        secret: conversation key of the version under which the conversation began.
    """
    return hmac.digest(secret, f"sovctl hand-off owner v1\0{tenant}\0{client}".encode(), sha256).hex()
