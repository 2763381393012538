"""Finds the data that a gateway holds about one subject: ledger entries, conversations in the vault, and hand-offs.

A subject is a principal (a client of the settings, or `ISSUER:SUBJECT` of an identity provider), or a person whose
values are in requests of a tenant. Text of requests and answers is stored nowhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sovctl.compliance.ledger.reader import LedgerReader

from ..audit.subjects import Subjects
from ..handoff.case import HandoffCase
from ..handoff.queue import open_queue
from ..settings import GatewaySettings
from ..tokens.conversation import Conversation
from ..vault import Vault
from ..vault.erasing import Scope

_REQUEST = "gateway.request"


@dataclass(frozen=True)
class Held:
    """Data about one subject."""

    scope: Scope
    """Scope of an erasure in the vault."""
    entries: list[dict[str, Any]] = field(default_factory=list)
    """`ledger` (its name), `index` and `record` of ledger entries."""
    conversations: list[dict[str, Any]] = field(default_factory=list)
    """`conversation` and `values` by token."""
    cases: list[HandoffCase] = field(default_factory=list)
    commitments: int = 0
    """Number of salts of the subject."""

    def counts(self) -> dict[str, int]:
        """Return the numbers that a dry run shows."""
        return {
            "ledger_entries": len(self.entries),
            "conversations": len(self.conversations),
            "values": sum(len(each["values"]) for each in self.conversations),
            "handoffs": len(self.cases),
            "salts": self.commitments,
        }


async def of_principal(vault: Vault, settings: GatewaySettings, name: str, *, ledgers: Sequence[Path]) -> Held:
    """Return the data about a client or a person at an identity provider.

    Args:
        ledgers: of all gateways that share the vault; they name the conversations.

    Raises:
        SovctlError: the vault, the queue or the ledger is unreadable.
    """
    subjects = Subjects.of(vault, settings.ledger)
    commitments = await subjects.known(name)
    entries = _entries(ledgers, clients={name}, commitments=commitments)
    requests = [each["record"] for each in entries if each["record"]["type"] == _REQUEST]
    found = {str(record["conversation"]): str(record["tenant"]) for record in requests}
    conversations = [Conversation(tenant, key, True) for key, tenant in sorted(found.items())]
    places = [each for key in conversations for each in (key, key.related_location("hand-offs"))]
    held = [
        {"conversation": place.key, "tenant": place.tenant, "values": values}
        for place in places
        if (values := await vault.load(place))
    ]
    scope = vault.eraser.principal(conversations, subjects.place(name))
    return Held(scope, entries, held, await _cases(settings, found), len(commitments))


async def of_values(
    vault: Vault, settings: GatewaySettings, tenant: str, values: Sequence[str], *, ledgers: Sequence[Path]
) -> Held:
    """Return the data about a person whose values are in requests of a tenant.

    Args:
        ledgers: of all gateways that share the vault.

    Raises:
        SovctlError: the vault, the queue or the ledger is unreadable.
    """
    scope = vault.eraser.subject(tenant, values)
    held = [
        {"conversation": each.conversation, "tenant": tenant, "values": each.values}
        for each in await vault.disclosure.values(scope)
    ]
    keys = {str(each["conversation"]) for each in held}
    entries = _entries(ledgers, conversations=keys)
    return Held(scope, entries, held, await _cases(settings, keys))


def _entries(
    ledgers: Iterable[Path],
    *,
    clients: Collection[str] = (),
    commitments: Collection[str] = (),
    conversations: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Return the entries of matching requests and operators' actions, with the entries of the same id."""
    found = []
    for directory in ledgers:
        reader, ids = LedgerReader(directory), set[str]()
        for entry in reader.entries():
            if b'"type":"gateway.' not in entry.data:
                continue
            record = entry.record
            # With a commitment, `client` is the identity provider of all its persons.
            is_client = record.get("client") in clients and "subject" not in record
            is_match = is_client or record.get("subject") in commitments or record.get("conversation") in conversations
            if is_match:
                ids.add(str(record.get("id")))
            if is_match or record.get("id") in ids:
                found.append({"ledger": reader.checkpoint.origin, "index": entry.leaf_index, "record": record})
    return found


async def _cases(settings: GatewaySettings, keys: Iterable[str]) -> list[HandoffCase]:
    """Return the hand-offs of conversations.

    Args:
        keys: of conversations, or of the locations of their hand-offs.
    """
    if settings.handoff is None:
        return []
    queue = await open_queue(settings)
    try:
        wanted = set(keys)
        return [each for each in await queue.all_cases() if {each.conversation, each.sealed_in.key} & wanted]
    finally:
        await queue.close()
