"""Answers a request with the KV cache of a prefilling pool, if its upstream has one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, TypeVar

from ..domain.errors import UpstreamFailed, UpstreamRejected
from ..upstream import Answer, Attempts, PrefillDecode, Upstream

Result = TypeVar("Result")


class Outgoing(NamedTuple):
    """A request as it is sent."""

    path: str
    body: bytes
    is_stream: bool
    headers: Mapping[str, str] | None
    key: int | None
    tokens: int
    deadline_s: float | None
    attempts: Attempts


async def answer_with_transfer(
    pair: PrefillDecode,
    upstream: Upstream,
    outgoing: Outgoing,
    read: Callable[[Answer], Awaitable[Result]],
    *,
    conversation: str,
) -> Result | None:
    """Return the answer, or its stream after the first event; None if the request must be sent without a transfer.

    Args:
        upstream: the pool that answers.
        read: reads the answer, or its first event.
        conversation: key of the conversation, hex digits.

    Raises:
        UpstreamFailed: the client's deadline passed (`deadline`).
    """
    transfer = await pair.prefill(
        outgoing.path,
        outgoing.body,
        conversation=conversation,
        deadline_s=outgoing.deadline_s,
        attempts=outgoing.attempts,
    )
    if transfer is None:
        return None
    body = transfer.take(asyncio.get_running_loop().time())
    if body is None:
        pair.note_without(outgoing.body, conversation, "expired")
        return None
    try:
        async with asyncio.timeout_at(transfer.ends_s):
            result = await read(await upstream.post_once(*outgoing._replace(body=body)))
    except TimeoutError:
        outcome = "late"
    except (UpstreamFailed, UpstreamRejected) as error:
        if str(error) == "deadline":
            raise
        outcome = "decode-failed"
    else:
        pair.count("transferred")
        return result
    pair.note_without(outgoing.body, conversation, outcome)
    return None
