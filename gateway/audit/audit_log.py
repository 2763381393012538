"""The audit log: who sent a request when, where it went, why, and how many tokens and findings it had.

    gateway.request     durable before anything is sent, and before the client gets a byte
    gateway.fallback    durable before another upstream gets the request
    gateway.answer      durable before the client gets the end of the answer
    gateway.handoff     durable before an operator's answer is stored, and before the client gets it
    gateway.policy      durable before changed settings are applied
    gateway.admin       durable before an operator's action is done
    gateway.search      durable before the client gets chunks of documents
    gateway.stale-read  written after a prefilling server counted reads of its cache after the lease
    gateway.erased      written after keys were destroyed; the vault keeps the erasure until it is durable

- Records hold no text of requests or answers. A person is named by a commitment; see `subjects`.
- Records of one request share its `id`.
- Digests of requests and answers are keyed (HMAC-SHA-256). So a short prompt cannot be guessed from the log, and the
  site can prove that its copy of a text was sent.
- If a record cannot be written, `Refused(AUDIT_UNAVAILABLE)` is raised: no durable record, no answer.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from sovctl.support.errors import SovctlError

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
from .erasure_records import erased_fields
from .records import answer_fields, encode, request_fields, timestamp
from .subjects import Subjects


class AuditSink(Protocol):
    """Destination of records: `GroupCommit` if this process writes the ledger, else `LineSender`."""

    def append_encoded(self, data: bytes) -> Awaitable[int]:
        """Return the index of a record once it is durable; `data` is canonical JSON."""

    def check(self) -> Awaitable[None]:
        """Return if records can be written; raise otherwise."""


DurableWrite = Coroutine[Any, Any, None]
"""A record, durable once it was awaited. Being a coroutine, mypy reports it if it is not awaited."""


@dataclass(frozen=True)
class AuditLog:
    """Writes the records of one gateway.

    Args:
        secret: key of the digests.
        policy_sha256: digest of the policy that applies.
        subjects: commitments to persons.
    """

    sink: AuditSink
    site: str
    secret: bytes
    policy_sha256: str
    subjects: Subjects
    metrics: Metrics = field(default_factory=Metrics)

    @cached_property
    def _key(self) -> HmacKey:
        return HmacKey(self.secret)

    @cached_property
    def _commit_s(self) -> Series:
        return self.metrics.ledger_commit_s.at()

    def digest(self, data: bytes) -> str:
        """Return the keyed digest of a complete request or answer."""
        return self._key.digest(data).hex()

    def hasher(self) -> Digest:
        """Return the keyed hash of an answer, to be updated chunk by chunk."""
        return self._key.begin()

    def request(
        self,
        planned: Planned,
        *,
        conversation: Conversation,
        upstream: str | None,
        reasons: Sequence[str],
        tokens: int = 0,
    ) -> DurableWrite:
        """Record a request before it is sent, or refused.

        Args:
            upstream: where it is sent; None if it is refused.
            reasons: reason codes of the plan, and of upstreams that were tried in vain.
            tokens: number of tokens in the body that is sent.

        Raises:
            Refused: the record is not durable.
        """
        digest = self.digest(planned.request.raw_body)
        fields = request_fields(
            planned, conversation=conversation, upstream=upstream, reasons=reasons, tokens=tokens, digest=digest
        )
        fields["site"], fields["policy_sha256"] = self.site, self.policy_sha256
        return self._append("gateway.request", planned.request.request_id, fields, by=planned.request.principal)

    def fallback(self, planned: Planned, *, upstream: str, tokens: int, reasons: Sequence[str]) -> DurableWrite:
        """Record a request before it is sent to another upstream, because the one before failed.

        Raises:
            Refused: the record is not durable.
        """
        fields: dict[str, Any] = {"upstream": upstream, "tokens": tokens, "reasons": list(reasons)}
        if (route := planned.fallback_route(upstream)) is not None:
            fields["fallback_route"] = route
        return self._append("gateway.fallback", planned.request.request_id, fields)

    def answer(self, delivered: Delivered) -> DurableWrite:
        """Record the end of an answer.

        Raises:
            Refused: the record is not durable.
        """
        return self._append("gateway.answer", delivered.request_id, answer_fields(delivered))

    def handoff(self, request_id: str, *, event: str, handoff_id: str, digest: str | None) -> DurableWrite:
        """Record an event of a hand-off before it happens: `resolved`, `delivered` or `expired`.

        Args:
            digest: keyed digest of the operator's answer; None without one.

        Raises:
            Refused: the record is not durable.
        """
        answered = {"answer_hmac": digest} if digest is not None else {}
        return self._append(
            "gateway.handoff",
            request_id,
            {"site": self.site, "event": event, "handoff_id": handoff_id, **answered},
        )

    def policy(
        self, *, policy_sha256: str, previous_policy_sha256: str, settings_sha256: str, changed: Sequence[str]
    ) -> DurableWrite:
        """Record changed settings before they are applied; `changed` holds their keys.

        Raises:
            Refused: the record is not durable.
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

    def admin(self, *, action: str, by: Principal, fields: Mapping[str, str]) -> DurableWrite:
        """Record an action of an operator before it is done.

        Raises:
            Refused: the record is not durable, so the action must not be done.
        """
        return self._append(
            "gateway.admin",
            secrets.token_hex(16),
            {
                "site": self.site,
                "action": action,
                "client": by.client,
                "method": by.method.value,
                "key_id": by.key_id,
                "fields": dict(fields),
            },
            by=by,
        )

    def search(
        self,
        request_id: str,
        *,
        by: Principal,
        collection: str,
        query_hmac: str,
        documents: Sequence[tuple[str, str]],
        chunks: int,
    ) -> DurableWrite:
        """Record a search of documents before the client gets its chunks.

        Args:
            collection: name; empty if the path has an invalid name.
            query_hmac: keyed digest of the query.
            documents: id and version of each document with a chunk.

        Raises:
            Refused: the record is not durable.
        """
        fields: dict[str, Any] = {
            "site": self.site,
            "client": by.client,
            "method": str(by.method),
            "key_id": by.key_id,
            "tenant": by.tenant,
            "collection": collection,
            "query_hmac": query_hmac,
            "documents": [list(each) for each in documents],
            "chunks": chunks,
        }
        return self._append("gateway.search", request_id, fields, by=by)

    def stale_read(self, *, upstream: str, server: int, kind: str, count: int) -> DurableWrite:
        """Record that a counter of late reads of a prefilling server rose; `kind` is a key of `stale_reads.KINDS`.

        Raises:
            Refused: the record is not durable.
        """
        fields = {"site": self.site, "upstream": upstream, "server": server, "kind": kind, "count": count}
        return self._append("gateway.stale-read", secrets.token_hex(16), fields)

    def erased(self, erasure: Erasure) -> DurableWrite:
        """Record that keys of the vault were destroyed.

        Raises:
            Refused: the record is not durable.
        """
        return self._append("gateway.erased", erasure.id, {"site": self.site, **erased_fields(erasure)})

    async def _append(self, kind: str, request_id: str, fields: dict[str, Any], *, by: Principal | None = None) -> None:
        now = time.time()
        fields["type"], fields["id"] = kind, request_id
        fields["time"] = timestamp(now)
        began = time.perf_counter()
        try:
            if by is not None and by.is_person:
                fields["subject"] = await self.subjects.commitment(by.name)
            await self.sink.append_encoded(encode(fields))
            self._commit_s.observe(time.perf_counter() - began)
        except SovctlError as error:
            log.event("audit record not durable", level=40, error=error, request_id=request_id)
            raise Refused(Code.AUDIT_UNAVAILABLE) from error
