"""Fields and encoding of audit records, which hold ids, names from the settings, codes, counts and digests."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import orjson

from sovctl.compliance.ledger.format import MAX_RECORD_BYTES
from sovctl.support.errors import InputError

from ..exchange.delivered import Delivered
from ..exchange.planned import Planned
from ..tokens.conversation import Conversation

_MILLISECONDS = tuple(f"{number:03d}Z" for number in range(1000))


def request_fields(
    planned: Planned,
    *,
    conversation: Conversation,
    upstream: str | None,
    reasons: Sequence[str],
    tokens: int,
    digest: str,
) -> dict[str, Any]:
    """Return the fields of a request.

    Args:
        upstream: where it is sent; None if it is refused.
        reasons: reason codes of the plan, and of upstreams that were tried in vain.
        tokens: number of tokens in the body that is sent.
        digest: keyed digest of the body that the client sent.
    """
    inspected, request = planned.inspected, planned.request
    principal, inspection = request.principal, inspected.inspection
    fields: dict[str, Any] = {
        "surface": request.surface.name,
        "client": principal.client,
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
        "request_hmac": digest,
        "inspected": inspection is not None,
    }
    if inspection is not None:
        fields["entity_types"] = {str(entity_type): count for entity_type, count in inspection.counts.items()}
        fields["rules"] = {f"{entity_type}/{rule}": count for (entity_type, rule), count in inspection.found.items()}
        fields["languages"] = sorted(inspection.languages)
        fields["obstacles"] = sorted(map(str, inspection.obstacles))
        if inspection.looked_by:
            fields["looked_by"] = inspection.looked_by
        if inspection.screened:
            fields["screens"] = dict(inspection.screened)
    if (recording := request.recording) is not None:
        fields["recording"] = recording._asdict()
    if planned.shadow is not None:
        fields["shadow"] = planned.shadow.plain()
    if (route := planned.fallback_route(upstream)) is not None:
        fields["fallback_route"] = route
    return fields


def answer_fields(delivered: Delivered) -> dict[str, Any]:
    """Return the fields of the end of an answer."""
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
    if delivered.earlier_release:
        fields["earlier_release"] = list(delivered.earlier_release)
    if delivered.fallback_route is not None:
        fields["fallback_route"] = delivered.fallback_route
    if delivered.recording is not None:
        fields["recording"] = delivered.recording._asdict()
    if delivered.handoff_id is not None:
        fields["handoff_id"] = delivered.handoff_id
    return fields


def encode(record: Mapping[str, Any]) -> bytes:
    """Return the canonical bytes of a record (RFC 8785), as the ledger's `encode_record` does in ten times the time.

    Audit records hold only ASCII keys, strings, integers, booleans and lists. For these, orjson with sorted keys writes
    what the RFC requires; `tests/gateway/audit/test_records.py` compares the two.

    Raises:
        InputError: the record is larger than the ledger accepts.
    """
    data = orjson.dumps(record, option=orjson.OPT_SORT_KEYS)
    if len(data) > MAX_RECORD_BYTES:
        raise InputError(f"expected a ledger record of at most {MAX_RECORD_BYTES} bytes, got {len(data)}")
    return data


def timestamp(seconds: float) -> str:
    """Return a time in seconds since 1970 as RFC 3339 in UTC, with milliseconds."""
    return _second(int(seconds)) + _MILLISECONDS[int(seconds % 1 * 1000)]


@lru_cache(4)
def _second(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime(second))
