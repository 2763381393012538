"""Response headers about a client's limits, with OpenAI's names, so that OpenAI's clients wait correctly.

    x-ratelimit-limit-requests: 600        x-ratelimit-remaining-requests: 588     x-ratelimit-reset-requests: 1m1s

Of the limits of a principal and its team, the one with less left by this process's count is reported. `reset` is the
time until all of it is free if no request is made. A refusal has `retry-after`, and `x-should-retry: false` if waiting
does not help.
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
_COUNTS_FOR_S = Window.MINUTE.free_at(0) - Window.MINUTE.starts(1)  # time that a slot still counts after its end
_LONGEST_RETRY_S = 3600
"""Upper bound of `retry-after`, because clients sleep that long; the openai client at most 60 s (2.x, 2026-11)."""


def limit_headers(accounts: Iterable[Account], now: float) -> Headers:
    """Return the headers of an answer; none without a limit by minute."""
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
    """Return the headers of a refusal."""
    headers = limit_headers(reached.accounts, now)
    if reached.retry_after_s is not None:
        headers.append((b"retry-after", b"%d" % min(_LONGEST_RETRY_S, max(1, math.ceil(reached.retry_after_s)))))
    if reached.retry_after_s is None or reached.is_budget:
        headers.append((b"x-should-retry", b"false"))
    return headers


def _duration(seconds: int) -> bytes:
    return b"%dm%ds" % divmod(seconds, 60) if seconds >= 60 else b"%ds" % seconds
