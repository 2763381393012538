"""Where does a request go? The upstreams to try, in order; pure. Never more than policy allows.

| order | rule | reason |
|---|---|---|
| 1 | policy blocks: none | |
| 2 | policy keeps it on-prem: the pool; none when the route has no pool | `no-pool` |
| 3 | policy lets it leave: the preferred one first, the other behind it | `preferred` |
| 4 | an upstream that doesn't serve the API is none | `surface` |
| 5 | an upstream in whose context it can't fit goes last | `context` |
| 6 | an upstream that is known to be down goes last | `down` |

Nothing is dropped for 5 and 6: an estimate and a memory of failures may be wrong, policy may not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sovctl.gateway.policy import Permit, Verdict
from sovctl.gateway.settings import RouteSettings, SurfaceName, UpstreamSettings

# No tokenizer in use puts more than about 8 bytes of prose into one token on average (English with 200k vocabularies:
# 4 to 5; guess, 2026-11), so a prompt has at least this many tokens. Used for order only.
_BYTES_PER_TOKEN_AT_MOST = 8


@dataclass(frozen=True, slots=True)
class Plan:
    """What to try, and why in this order."""

    upstreams: tuple[str, ...]
    """Names, best first; empty when policy blocks, or when nothing that policy allows serves the API."""
    reasons: tuple[str, ...]
    """Policy's, then ours."""


def plan_route(
    permit: Permit,
    route: RouteSettings,
    upstreams: Mapping[str, UpstreamSettings],
    *,
    family: SurfaceName,
    body_bytes: int,
    max_answer_tokens: int,
    down: Collection[str] = (),
) -> Plan:
    """The upstreams to try for a request.

    Args:
        family: of the request's surface.
        body_bytes: size of the request's JSON.
        max_answer_tokens: what the client asked for, 0 when it didn't.
        down: names of upstreams that failed lately.
    """
    if permit.verdict is Verdict.BLOCK:
        return Plan((), permit.reasons)
    if not permit.verdict.may_leave or route.cloud is None:
        if route.pool is None:
            return Plan((), (*permit.reasons, "no-pool"))
        names, reasons = [route.pool], list(permit.reasons)
    else:
        names = list(route.upstreams)
        reasons = [*permit.reasons, *([f"preferred:{route.prefer}"] if route.pool is not None else [])]
    unserved = [name for name in names if family not in upstreams[name].surfaces]
    if unserved:
        names = [name for name in names if name not in unserved]
        reasons += [f"surface:{name}" for name in unserved]
    if len(names) < 2:
        return Plan(tuple(names), tuple(reasons))
    tokens_at_least = body_bytes // _BYTES_PER_TOKEN_AT_MOST + max_answer_tokens
    too_small = [name for name in names if tokens_at_least > upstreams[name].max_model_len]
    failing = [name for name in names if name in down]
    reasons += [f"context:{name}" for name in too_small] + [f"down:{name}" for name in failing]
    names.sort(key=lambda name: (name in failing, name in too_small))
    return Plan(tuple(names), tuple(reasons))
