"""What a limited caller is told with every answer: OpenAI's header names, so that its clients wait as they do there.

    x-ratelimit-limit-requests: 600        x-ratelimit-remaining-requests: 588     x-ratelimit-reset-requests: 1m1s

Of a caller and his team the tighter limit is told, as far as this process knows. `reset` is when all of it is free
again if nobody calls. A refusal says `retry-after`, and `x-should-retry: false` where waiting is no use.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from ..domain.errors import Headers
from .meter import Account, Meter
from .need import Amounts
from .reservation import LimitReached
from .window import Window

_NAMES = {
    part: tuple(b"x-ratelimit-%s-%s" % (word, name.encode()) for word in (b"limit", b"remaining", b"reset"))
    for part, name in enumerate(Amounts._fields)
}
_COUNTS_FOR_S = Window.MINUTE.free_at(0) - Window.MINUTE.starts(1)  # after a slot has ended
_LONGEST_RETRY_S = 3600
"""Clients sleep for as long as they are told; the openai client for 60 s at most (2.x, 2026-11)."""


def limit_headers(accounts: Iterable[Account], now: float) -> Headers:
    """Of an answer; nothing for who has no limit by the minute."""
    tightest: dict[int, tuple[int, Meter]] = {}
    for account in accounts:
        for meter in account.by_minute:
            remaining = meter.remaining
            known = tightest.get(meter.part)
            if known is None or remaining < known[0]:
                tightest[meter.part] = remaining, meter
    headers: Headers = []
    for part, (remaining, meter) in tightest.items():
        limit, left, reset = _NAMES[part]
        reset_s = math.ceil(meter.ends_at + _COUNTS_FOR_S - now) if remaining < meter.limit else 0
        headers += ((limit, b"%d" % meter.limit), (left, b"%d" % remaining), (reset, _duration(max(0, reset_s))))
    return headers


def refusal_headers(reached: LimitReached, now: float) -> Headers:
    """Of a refusal."""
    headers = limit_headers(reached.accounts, now)
    if reached.retry_after_s is not None:
        headers.append((b"retry-after", b"%d" % min(_LONGEST_RETRY_S, max(1, math.ceil(reached.retry_after_s)))))
    if reached.retry_after_s is None or reached.is_budget:
        headers.append((b"x-should-retry", b"false"))
    return headers


def _duration(seconds: int) -> bytes:
    return b"%dm%ds" % divmod(seconds, 60) if seconds >= 60 else b"%ds" % seconds
