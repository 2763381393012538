"""The audit record of a request: who, when, where to, why, how many of what. Never a word of its text.

    gateway.request     durable before anything leaves and before the client gets a byte
    gateway.fallback    durable before a second upstream gets the request
    gateway.answer      durable before the client gets the end of the answer
    gateway.handoff     durable before an operator's answer is kept, and before the client gets it
    gateway.policy      durable before changed settings come into force
    gateway.admin       durable before an operator's action is done
    gateway.erased      after keys were destroyed; until it is durable, the vault keeps what it says

Records of one request share its `id`. Digests of request and answer are keyed (HMAC-SHA-256), so nobody can guess a
short prompt from the log, and yet the site can show that a text it holds is the one that was sent. A record that
can't be written raises `Refused(AUDIT_UNAVAILABLE)`: no durable audit write, no answer.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Protocol

import orjson

from sovctl.compliance.ledger.format import MAX_RECORD_BYTES
from sovctl.support.errors import InputError, SovctlError

from ..access.principal import Principal
from ..domain.errors import Code, Refused
from ..exchange.delivered import Delivered
from ..exchange.planned import Planned
from ..telemetry import log
from ..telemetry.metrics import Metrics
from ..telemetry.metrics.families import Series
from ..tokens.conversation import Conversation
from ..tokens.hmac_key import Digest, HmacKey
from ..vault.database.erasures import Erasure


class Sink(Protocol):
    """Where records go: `GroupCommit` when this process writes the ledger, else `LineSender`."""

    def append_encoded(self, data: bytes) -> Awaitable[int]:
        """Return the record's index once it is durable; `data` is canonical JSON."""

    def check(self) -> Awaitable[None]:
        """Return when records can be written."""


Recording = Coroutine[Any, Any, None]
"""A record on its way, durable once this was awaited; mypy sees a coroutine that nobody awaits, and no `Awaitable`."""


@dataclass(frozen=True)
class AuditLog:
    """Writes the records of one gateway.

    Args:
        secret: key of the digests.
        policy_sha256: of the policy in force.
    """

    sink: Sink
    site: str
    secret: bytes
    policy_sha256: str
    metrics: Metrics = field(default_factory=Metrics)

    @cached_property
    def _key(self) -> HmacKey:
        return HmacKey(self.secret)

    @cached_property
    def _commit_s(self) -> Series:
        return self.metrics.ledger_commit_s.at()

    def digest(self, data: bytes) -> str:
        """The keyed digest of what is sent or received, whole."""
        return self._key.digest(data).hex()

    def hasher(self) -> Digest:
        """The same, to be fed piece by piece."""
        return self._key.begin()

    def request(
        self,
        planned: Planned,
        *,
        conversation: Conversation,
        upstream: str | None,
        reasons: Sequence[str],
        tokens: int = 0,
    ) -> Recording:
        """Record a request before it is sent, or refused.

        Args:
            upstream: where it is sent; None if it is refused.
            reasons: reason codes of the plan, and of upstreams that were tried in vain.
            tokens: number of tokens in the body that is sent.

        Raises:
            Refused: the record is not durable.
        """
        inspected, request = planned.inspected, planned.request
        principal, inspection = request.principal, inspected.inspection
        fields: dict[str, Any] = {
            "site": self.site,
            "surface": request.surface.name,
            "client": principal.name,
            "method": str(principal.method),
            "key_id": principal.key_id,
            "tenant": principal.tenant,
            "model": request.route.model,
            "conversation": conversation.key,
            "stream": request.is_stream,
            "verdict": str(inspected.permit.verdict),
            "upstream": upstream,
            "tokens": tokens,
            "reasons": reasons,
            "request_hmac": self.digest(request.raw_body),
            "policy_sha256": self.policy_sha256,
            "inspected": inspection is not None,
        }
        if inspection is not None:
            fields["kinds"] = {str(kind): count for kind, count in inspection.counts.items()}
            fields["languages"] = sorted(inspection.languages)
            fields["obstacles"] = sorted(map(str, inspection.obstacles))
            if inspection.looked_by:
                fields["looked_by"] = inspection.looked_by
        if planned.shadow is not None:
            fields["shadow"] = planned.shadow.plain()
        return self._append("gateway.request", request.request_id, fields)

    def fallback(self, request_id: str, *, upstream: str, tokens: int, reasons: Sequence[str]) -> Recording:
        """The upstream before failed; the request is about to go to another.

        Raises:
            Refused: not durable.
        """
        return self._append(
            "gateway.fallback", request_id, {"upstream": upstream, "tokens": tokens, "reasons": list(reasons)}
        )

    def answer(self, delivered: Delivered) -> Recording:
        """Record the end of an answer.

        Raises:
            Refused: the record is not durable.
        """
        counts = delivered.counts
        fields: dict[str, Any] = {
            "status": delivered.status,
            "upstream": delivered.upstream,
            "reason": delivered.reason,
            "attempts": delivered.tries,
            "tokens": {
                "restored": counts.restored,
                "withheld": counts.withheld,
                "unknown": counts.unknown,
                "malformed": counts.malformed,
                "capped": counts.capped,
            },
            "answer_hmac": delivered.digest,
        }
        if delivered.release is not None:
            fields["release"] = delivered.release
        if delivered.handoff_id is not None:
            fields["handoff_id"] = delivered.handoff_id
        return self._append("gateway.answer", delivered.request_id, fields)

    def handoff(self, request_id: str, *, event: str, handoff_id: str, digest: str | None) -> Recording:
        """What is about to happen to a hand-off: resolved, delivered, expired.

        Args:
            digest: of the operator's answer, when there is one.

        Raises:
            Refused: not durable.
        """
        answered = {"answer_hmac": digest} if digest is not None else {}
        return self._append(
            "gateway.handoff",
            request_id,
            {"site": self.site, "event": event, "handoff_id": handoff_id, **answered},
        )

    def policy(
        self, *, policy_sha256: str, previous_policy_sha256: str, settings_sha256: str, changed: Sequence[str]
    ) -> Recording:
        """Changed settings are about to come into force; `changed` names their keys.

        Raises:
            Refused: not durable.
        """
        return self._append(
            "gateway.policy",
            secrets.token_hex(16),
            {
                "site": self.site,
                "policy_sha256": policy_sha256,
                "previous_policy_sha256": previous_policy_sha256,
                "settings_sha256": settings_sha256,
                "changed": list(changed),
            },
        )

    def admin(self, *, action: str, by: Principal, fields: Mapping[str, str]) -> Recording:
        """An operator is about to do something.

        Raises:
            Refused: not durable, so it must not be done.
        """
        return self._append(
            "gateway.admin",
            secrets.token_hex(16),
            {
                "site": self.site,
                "action": action,
                "client": by.name,
                "method": by.method.value,
                "key_id": by.key_id,
                "fields": dict(fields),
            },
        )

    def erased(self, erasure: Erasure) -> Recording:
        """Keys of the vault were destroyed.

        Raises:
            Refused: not durable.
        """
        return self._append("gateway.erased", erasure.id, {"site": self.site, **erased_fields(erasure)})

    async def _append(self, kind: str, request_id: str, fields: dict[str, Any]) -> None:
        now = time.time()
        fields["type"], fields["id"] = kind, request_id
        fields["time"] = _moment(int(now)) + _MILLISECONDS[int(now % 1 * 1000)]
        began = time.perf_counter()
        try:
            await self.sink.append_encoded(encode(fields))
            self._commit_s.observe(time.perf_counter() - began)
        except SovctlError as error:
            log.event("audit record not durable", level=40, error=error, request_id=request_id)
            raise Refused(Code.AUDIT_UNAVAILABLE) from error


def erased_fields(erasure: Erasure) -> dict[str, Any]:
    """What ledger and receipt say of an erasure, in the same words."""
    return {
        "scope": erasure.scope,
        "scope_digest": erasure.scope_digest,
        "begun": _moment(erasure.begun_at) + "000Z",
        "by": erasure.by,
        "conversations": erasure.conversations,
        "rings": erasure.rings,
        "data_keys": erasure.data_keys,
        "destroyed_sha256": erasure.destroyed_sha256,
        "wrapping_keys": erasure.wrapping_keys,
        "is_complete": erasure.is_complete,
    }


def encode(record: Mapping[str, Any]) -> bytes:
    """The canonical bytes of a record, RFC 8785: the same as the ledger's `encode_record`, a tenth of its cost.

    Ours hold ASCII keys, strings, integers, booleans and lists, for which orjson with sorted keys writes what the RFC
    asks for; `tests/gateway/test_audit_records.py` holds them equal.

    Raises:
        InputError: it is larger than the ledger takes.
    """
    data = orjson.dumps(record, option=orjson.OPT_SORT_KEYS)
    if len(data) > MAX_RECORD_BYTES:
        raise InputError(f"expected a ledger record of at most {MAX_RECORD_BYTES} bytes, got {len(data)}")
    return data


_MILLISECONDS = tuple(f"{number:03d}Z" for number in range(1000))


@lru_cache(4)
def _moment(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime(second))
