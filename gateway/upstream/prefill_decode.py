"""Disaggregated prefill: one pool computes the KV cache of long prompts, another one reads it and answers.

The cache stays with the prefilling server for a lease. A server that reads it later, or a second time, can get another
request's prompt, and reports no error (measured, vLLM 0.32). `PrefillDecode` and `Transfer` keep these rules:

- Transfer parameters are sent once, to one server, in the first half of the lease, which is measured from the moment
  before the prefill was requested. The first token must come before the end of the lease: an answer that begins later
  is discarded, because the cache may have been read after the lease.
- Blocks that were transferred have a cache salt of their own, so no later request finds them in a prefix cache.
- Every failure leads to a request without parameters, which needs no transfer.

    transfer = await pair.prefill(path, body, conversation=key, ...)      # None: serve without a transfer
    body = transfer.take(now_s)                                           # None: too late, or taken before
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from ..domain.errors import UpstreamFailed, UpstreamRejected
from ..settings.traffic.prefill import PrefillSettings
from ..telemetry.metrics import Metrics
from .answer import Attempts
from .kv_transfer import decode_body, params_in, prefill_body, transferable
from .server_choice import conversation_key
from .upstream import Upstream

_BYTES_PER_TOKEN = 4  # as `routing.demand`
_MAX_CONVERSATIONS = 4096  # about 0.5 MB
_MAX_ANSWER_BYTES = 16 << 20  # one token and the block ids of a prompt: 8 bytes a block of 16 tokens or more


class Transfer:
    """A prefilled prompt. Its body can be taken once, in the first half of the lease.

    Args:
        body: request with the transfer parameters.
        asked_s: time before the prefill was requested, so that the lease began later.
    """

    __slots__ = ("_body", "_take_until_s", "ends_s")

    def __init__(self, body: bytes, *, asked_s: float, lease_s: float) -> None:
        self._body: bytes | None = body
        self._take_until_s = asked_s + lease_s / 2
        self.ends_s = asked_s + lease_s
        """Time before the end of the lease by which the first token must have come."""

    def take(self, now_s: float) -> bytes | None:
        """Return the body, and forget it; None if it was taken before, or half of the lease is over."""
        body, self._body = self._body, None
        return body if now_s < self._take_until_s else None


class PrefillDecode:
    """The two pools of a pair.

    Args:
        decode: pool that answers.
        prefill: pool that prefills for it.
        settings: of `decode`.
    """

    def __init__(self, decode: Upstream, prefill: Upstream, settings: PrefillSettings, metrics: Metrics) -> None:
        self._decode = decode
        self._prefill = prefill
        self._metrics = metrics
        self._min_uncached_tokens = settings.min_uncached_tokens
        self._lease_s, self._timeout_s = float(settings.kv_lease_s), settings.timeout_s
        self._cached: OrderedDict[str, int] = OrderedDict()  # prompt tokens that `decode` computed, by conversation

    def count(self, outcome: str) -> None:
        """Count a transfer, or why there was none."""
        self._metrics.kv_transfers.add(self._decode.name, outcome)

    async def prefill(
        self, path: str, body: bytes, *, conversation: str, deadline_s: float | None, attempts: Attempts
    ) -> Transfer | None:
        """Return the prefilled prompt of a request; None if the request is served without a transfer.

        Args:
            conversation: key of its conversation, hex digits.
            deadline_s: of the client, in event-loop time (seconds).
            attempts: receives the attempts to prefill.
        """
        tokens = len(body) // _BYTES_PER_TOKEN
        asked_s = asyncio.get_running_loop().time()
        if tokens - self._cached.get(conversation, 0) < self._min_uncached_tokens:
            outcome = "short"
        elif (request := transferable(path, body)) is None:
            outcome = "not-transferable"
        elif not self._is_ready():
            outcome = "prefill-unavailable"
        elif (params := await self._params(path, request, conversation, tokens, deadline_s, attempts)) is None:
            outcome = "prefill-failed"
        else:
            data = decode_body(request, params, cache_salt=secrets.token_urlsafe(32))
            return Transfer(data, asked_s=asked_s, lease_s=self._lease_s)
        self.note_without(body, conversation, outcome)
        return None

    def _is_ready(self) -> bool:
        state = self._prefill.state()
        return not (state.is_down or state.is_busy or state.has_long_queue)

    async def _params(
        self,
        path: str,
        request: Mapping[str, Any],
        conversation: str,
        tokens: int,
        deadline_s: float | None,
        attempts: Attempts,
    ) -> Mapping[str, Any] | None:
        """Return the transfer parameters of a prompt; None if it was not prefilled in time."""
        now_s = asyncio.get_running_loop().time()
        timeout_s = min(self._timeout_s, self._lease_s / 2)
        if deadline_s is not None:
            timeout_s = min(timeout_s, max(0.0, deadline_s - now_s) / 2)
        try:
            async with asyncio.timeout(timeout_s):
                answer = await self._prefill.post(
                    path,
                    prefill_body(request, model=self._prefill.model),
                    is_stream=False,
                    key=conversation_key(conversation),
                    tokens=tokens,
                    deadline_s=now_s + timeout_s,
                    may_wait=False,
                    attempts=attempts,
                )
                try:
                    return params_in(await answer.read(at_most=_MAX_ANSWER_BYTES))
                finally:
                    answer.release()
        except (TimeoutError, UpstreamFailed, UpstreamRejected):
            return None

    def note_without(self, body: bytes, conversation: str, outcome: str) -> None:
        """Count why a request is served without a transfer: `decode` then computes its prompt, and caches it."""
        self.count(outcome)
        self._cached[conversation] = len(body) // _BYTES_PER_TOKEN
        self._cached.move_to_end(conversation)
        if len(self._cached) > _MAX_CONVERSATIONS:
            self._cached.popitem(last=False)
