"""Errors for answers with a status other than 200: about the request, the server's load, or the settings.

A rejected request is not sent to other servers; an overloaded server is tried last until its pause ends.
"""

from __future__ import annotations

from datetime import UTC, datetime

import orjson

from ..domain.errors import Rejection, UpstreamFailed, UpstreamRejected
from .answer import Answer
from .retry import retry_after_s
from .server import Server

_REJECTED = frozenset({400, 409, 413, 422})
_ABSENT = frozenset({404, 405})  # API or model not found there: an error in the settings, and other servers may have it
# Errors that last until the operator changes the settings, or the account at the provider.
_REFUSALS = {
    **dict.fromkeys((401, 402, 403), "rejects the gateway key"),
    **dict.fromkeys(_ABSENT, "lacks the API or model"),
    **dict.fromkeys((301, 302, 307, 308), "has another address"),
}
REFUSALS_OF_PROXIES = {"proxy-407": "its proxy rejects the user and password of the gateway: proxy-407"}
# Firewalls also answer 403, for single texts, mostly with a web page (AWS, Cloudflare; issues of LiteLLM 12421 and
# OpenHands 4480, read 2026-11).
_FORBIDDEN = 403
_KEY_HOLDS_S = 60.0  # a revoked key is reported after one minute (chosen, 2026-11)
_MAX_ERROR_BYTES = 64 << 10
_CONTEXT_WORDS = (
    *(b"context length", b"context_length", b"max_model_len", b"maximum context"),  # vLLM, OpenAI
    *(b"prompt is too long", b"input is too long"),  # Anthropic, Bedrock (docs, "Errors"; read 2026-11)
)
# 529: `overloaded_error` of Anthropic (docs, "Errors"; read 2026-11).
OVERLOADED = frozenset({"status-429", "status-503", "status-529"})
_BUSY_S = 1.0  # pause of an overloaded server without `retry-after`
_MAX_BUSY_S = 60.0  # upper bound, in case of a wrong clock at the server


async def refused(
    server: Server, answer: Answer, *, max_answer_bytes: int, now_s: float
) -> UpstreamRejected | UpstreamFailed:
    """Return the error for an answer with a status other than 200, and release the answer.

    The body may repeat the prompt, so it is not included.

    Args:
        max_answer_bytes: of the body of a rejected request.
        now_s: event-loop time, seconds.
    """
    try:
        if answer.status in _REJECTED:
            said = (await answer.read(at_most=max_answer_bytes)).lower()
            is_too_long = any(word in said for word in _CONTEXT_WORDS)
            server.refusal = ""
            return _rejected(server, answer, Rejection.TOO_LONG if is_too_long else Rejection.PARAMETERS)
        if answer.status == _FORBIDDEN and await _is_of_this_request(server, answer, now_s):
            return _rejected(server, answer, Rejection.FIREWALL)
        cause = f"status-{answer.status}"
        if cause in OVERLOADED:
            asked_s = retry_after_s(answer.header(b"retry-after"), now=datetime.now(UTC))
            server.busy_until_s = now_s + min(_BUSY_S if asked_s is None else asked_s, _MAX_BUSY_S)
            answer.note(cause)
        elif answer.status in _ABSENT:  # the server works, and may serve other APIs
            server.breaker.succeeded()
            answer.note(cause)
        else:
            answer.failed(cause)
        await answer.discard()
        server.refusal = refusal_in(answer.status)
        return UpstreamFailed(cause, refusal=server.refusal)
    finally:
        answer.release()


def refusal_in(status: int) -> str:
    """Return the configuration error that a status indicates; empty if none."""
    said = _REFUSALS.get(status)
    return f"{said}: status-{status}" if said else ""


async def _is_of_this_request(server: Server, answer: Answer, now_s: float) -> bool:
    """Return whether a 403 is unrelated to the key: other requests succeeded within a minute, or the response is
    not an API's JSON."""
    try:
        is_api = isinstance(orjson.loads(await answer.read(at_most=_MAX_ERROR_BYTES)), dict)
    except (orjson.JSONDecodeError, UpstreamFailed):
        is_api = False
    return not is_api or now_s - server.answered_s < _KEY_HOLDS_S


def _rejected(server: Server, answer: Answer, why: Rejection) -> UpstreamRejected:
    """Return the error for a rejected request; its server counts as working."""
    server.breaker.succeeded()
    answer.note(why.value)
    return UpstreamRejected(why)
