"""Error responses of the gateway: reason codes with their HTTP status and message.

The body has the format of OpenAI's errors, plus a `sovctl` object. A message states cause, consequence and action. It
contains no text of the request or of an upstream.

    {"error": {"message": "...", "type": "policy_error", "param": null, "code": "policy_blocked",
               "sovctl": {"reason": "policy_blocked", "request_id": "..."}}}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson

Headers = list[tuple[bytes, bytes]]


class Code(StrEnum):
    """Reason codes; documented in docs/gateway.md."""

    INVALID_HTTP = "invalid_http"
    INVALID_JSON = "invalid_json"
    INVALID_FORM = "invalid_form"
    INVALID_REQUEST = "invalid_request"
    INVALID_EVENT = "invalid_event"
    FIELD_NOT_ALLOWED = "field_not_allowed"
    MEDIA_URL_NOT_ALLOWED = "media_url_not_allowed"
    TOO_DEEP = "too_deep"
    TOO_MUCH_WORK = "too_much_work"
    BODY_TOO_LARGE = "body_too_large"
    HEAD_TOO_LARGE = "head_too_large"
    RECORDING_TOO_LARGE = "recording_too_large"
    RECORDING_TOO_LONG = "recording_too_long"
    RECORDING_UNREADABLE = "recording_unreadable"
    RECORDING_CHECK_UNAVAILABLE = "recording_check_unavailable"
    REQUEST_TIMEOUT = "request_timeout"
    INVALID_TIMEOUT = "invalid_timeout"
    INVALID_CONVERSATION = "invalid_conversation"
    INVALID_API_KEY = "invalid_api_key"
    TOO_MANY_FAILURES = "too_many_failures"
    MONITORING_NOT_ALLOWED = "monitoring_not_allowed"
    ORIGIN_NOT_ALLOWED = "origin_not_allowed"
    ROUTE_NOT_ALLOWED = "route_not_allowed"
    SURFACE_NOT_ALLOWED = "surface_not_allowed"
    MODEL_NOT_FOUND = "model_not_found"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    UNSUPPORTED_ENCODING = "unsupported_encoding"
    SURFACE_NOT_SERVED = "surface_not_served"
    STATE_NOT_KEPT = "state_not_kept"
    POLICY_BLOCKED = "policy_blocked"
    STAYS_ON_PREM = "stays_on_prem"
    RATE_LIMIT_EXCEEDED = "rate_limit_exceeded"
    REQUEST_EXCEEDS_LIMIT = "request_exceeds_limit"
    INSUFFICIENT_QUOTA = "insufficient_quota"
    UPSTREAM_REJECTED = "upstream_rejected"
    UPSTREAM_BLOCKED = "upstream_blocked"
    CONTEXT_LENGTH_EXCEEDED = "context_length_exceeded"
    UPSTREAM_FAILED = "upstream_failed"
    UPSTREAM_MISCONFIGURED = "upstream_misconfigured"
    POOL_UNAVAILABLE = "pool_unavailable"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    ANSWER_WITHHELD = "answer_withheld"
    HANDOFF_NOT_FOUND = "handoff_not_found"
    HANDOFF_QUEUE_FULL = "handoff_queue_full"
    HANDOFF_UNAVAILABLE = "handoff_unavailable"
    RETRIEVAL_UNAVAILABLE = "retrieval_unavailable"
    AUDIT_UNAVAILABLE = "audit_unavailable"
    VAULT_UNAVAILABLE = "vault_unavailable"
    LIMITS_UNAVAILABLE = "limits_unavailable"
    LISTED_HITS_EXCEEDED = "listed_hits_exceeded"
    SESSION_EXPIRED = "session_expired"
    TOO_MANY_SESSIONS = "too_many_sessions"
    TENANT_BUSY = "tenant_busy"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    type: str
    message: str


_INVALID, _AUTH, _POLICY, _SERVER = "invalid_request_error", "authentication_error", "policy_error", "server_error"
_LIMIT = "rate_limit_error"

_ANSWERS: dict[Code, _Answer] = {
    Code.INVALID_HTTP: _Answer(400, _INVALID, "invalid HTTP/1.1 request; use http:// if the gateway has no TLS"),
    Code.INVALID_JSON: _Answer(400, _INVALID, "invalid JSON; the body must be a JSON object"),
    Code.INVALID_FORM: _Answer(
        400,
        _INVALID,
        "invalid form; send multipart/form-data in UTF-8 with the fields `file` and `model`, each field once",
    ),
    Code.INVALID_REQUEST: _Answer(400, _INVALID, "the body does not match the schema of this API"),
    Code.INVALID_EVENT: _Answer(
        400,
        _INVALID,
        "unknown, invalid or unexpected event; send session.update with `model`, then input_audio_buffer.commit, "
        "input_audio_buffer.append with PCM of 16 bits and 16 kHz in base64, and commit with `final: true`",
    ),
    Code.FIELD_NOT_ALLOWED: _Answer(400, _INVALID, "this gateway does not accept a field of the request; remove it"),
    Code.MEDIA_URL_NOT_ALLOWED: _Answer(
        400, _INVALID, "servers may not fetch this URL; send the content in a `data:` URL"
    ),
    Code.TOO_DEEP: _Answer(400, _INVALID, "the JSON body is nested too deeply"),
    Code.TOO_MUCH_WORK: _Answer(
        422,  # RFC 9110 15.5.21: the syntax is correct, and the instructions cannot be processed
        _INVALID,
        "the body contains more identifiers, or texts that may be identifiers, than the gateway inspects for its size; "
        "send it in several requests",
    ),
    Code.BODY_TOO_LARGE: _Answer(413, _INVALID, "the body is too large"),
    Code.RECORDING_TOO_LARGE: _Answer(413, _INVALID, "the file has more bytes than this gateway accepts"),
    Code.RECORDING_TOO_LONG: _Answer(
        413, _INVALID, "the recording is longer than this gateway accepts, or its header states a longer one; cut it"
    ),
    Code.RECORDING_UNREADABLE: _Answer(
        400, _INVALID, "expected a recording with sound in WAV, FLAC, Ogg (Vorbis, Opus) or MP3, got another file"
    ),
    Code.RECORDING_CHECK_UNAVAILABLE: _Answer(
        503, _SERVER, "the recording could not be measured, so it was not sent; the operator finds the cause in the log"
    ),
    Code.HEAD_TOO_LARGE: _Answer(431, _INVALID, "the header fields are too large; send fewer or shorter ones"),
    Code.REQUEST_TIMEOUT: _Answer(408, _INVALID, "the request did not arrive in time; the connection is closed"),
    Code.INVALID_CONVERSATION: _Answer(
        400, _INVALID, "invalid x-sovctl-conversation; use 1 to 128 printable ASCII characters without spaces"
    ),
    Code.INVALID_TIMEOUT: _Answer(400, _INVALID, "invalid x-request-timeout; send seconds, greater than 0"),
    Code.INVALID_API_KEY: _Answer(
        401, _AUTH, "missing or invalid credential; send `Authorization: Bearer` with a valid API key or token"
    ),
    Code.TOO_MANY_FAILURES: _Answer(
        429, _LIMIT, "too many invalid credentials from this address or in total; a valid one is served"
    ),
    Code.MONITORING_NOT_ALLOWED: _Answer(403, _AUTH, "this key may not read metrics; use one with `is_monitor`"),
    Code.ORIGIN_NOT_ALLOWED: _Answer(403, _AUTH, "pages of other origins may not open a session of this gateway"),
    Code.ROUTE_NOT_ALLOWED: _Answer(
        403, _AUTH, "this key may not use the model; GET /v1/models lists the permitted models"
    ),
    Code.SURFACE_NOT_ALLOWED: _Answer(403, _AUTH, "this key may not use this API"),
    Code.MODEL_NOT_FOUND: _Answer(404, _INVALID, "unknown model; GET /v1/models lists the models of this gateway"),
    Code.NOT_FOUND: _Answer(
        404,
        _INVALID,
        "unknown path; the base URL ends in /v1 for OpenAI clients, and without /v1 for Anthropic clients",
    ),
    Code.HANDOFF_NOT_FOUND: _Answer(
        404, _INVALID, "hand-off not found; it does not belong to this client, or it has expired"
    ),
    Code.METHOD_NOT_ALLOWED: _Answer(
        405, _INVALID, "method not allowed; the header `allow` lists the permitted methods"
    ),
    Code.UNSUPPORTED_ENCODING: _Answer(
        415, _INVALID, "compressed bodies are not supported; send the body without content-encoding"
    ),
    Code.STATE_NOT_KEPT: _Answer(
        404,
        _INVALID,
        "the gateway stores no responses, conversations, prompts or files; send the whole input each time",
    ),
    Code.SURFACE_NOT_SERVED: _Answer(
        404,
        _INVALID,
        "no permitted upstream serves this model through this API; see `surfaces` of the upstreams in the gateway's "
        "settings",
    ),
    Code.POLICY_BLOCKED: _Answer(
        403, _POLICY, "the policy of this site rejects requests with this content; remove it and try again"
    ),
    Code.STAYS_ON_PREM: _Answer(
        403,
        _POLICY,
        "policy requires on-prem processing, and no on-prem pool serves this model; the request was not sent",
    ),
    Code.RATE_LIMIT_EXCEEDED: _Answer(
        429, _LIMIT, "a rate limit of this key or its team is reached; retry after the seconds in `retry-after`"
    ),
    Code.REQUEST_EXCEEDS_LIMIT: _Answer(
        429,
        _LIMIT,
        "this request may use more tokens or cost than a limit of this key, its team or this model allows; shorten it, "
        "or set a smaller `max_tokens`",
    ),
    Code.INSUFFICIENT_QUOTA: _Answer(
        429,
        "insufficient_quota",
        "the budget of this key or its team is used up; retry after the time in `retry-after`",
    ),
    Code.UPSTREAM_REJECTED: _Answer(400, _INVALID, "the upstream rejected the request's parameters"),
    Code.UPSTREAM_BLOCKED: _Answer(
        403,
        _INVALID,
        "a firewall or proxy in front of the upstream rejected this request, possibly because of its content",
    ),
    Code.CONTEXT_LENGTH_EXCEEDED: _Answer(
        400,
        _INVALID,
        "prompt and requested answer exceed the model's context length; shorten the prompt or `max_tokens`",
    ),
    Code.UPSTREAM_FAILED: _Answer(502, _SERVER, "no upstream returned an answer; try again"),
    Code.UPSTREAM_MISCONFIGURED: _Answer(
        502,
        _SERVER,
        "every upstream rejects the gateway's requests: its key, address or model name is wrong; the operator finds "
        "the cause in the gateway log",
    ),
    Code.POOL_UNAVAILABLE: _Answer(
        503,
        _SERVER,
        "policy requires on-prem processing, and the on-prem pool does not answer; the request was not sent elsewhere",
    ),
    Code.DEADLINE_EXCEEDED: _Answer(
        504,
        _SERVER,
        "the upstream did not answer within the timeout; try again, or raise `x-request-timeout`",
    ),
    Code.ANSWER_WITHHELD: _Answer(
        403, _POLICY, "the answer failed a release check of this site and was withheld; rephrase the request"
    ),
    Code.HANDOFF_QUEUE_FULL: _Answer(
        503, _SERVER, "this answer requires human review, and the review queue is full; try again later"
    ),
    Code.HANDOFF_UNAVAILABLE: _Answer(
        503, _SERVER, "this answer requires human review, and the review queue is unavailable; try again later"
    ),
    Code.RETRIEVAL_UNAVAILABLE: _Answer(
        503, _SERVER, "the retrieval service is unavailable, so nothing was searched; try again later"
    ),
    Code.AUDIT_UNAVAILABLE: _Answer(
        503, _SERVER, "the audit record could not be written, so the answer was withheld; try again later"
    ),
    Code.VAULT_UNAVAILABLE: _Answer(
        503, _SERVER, "the token vault is unavailable; the request was not sent; try again later"
    ),
    Code.SESSION_EXPIRED: _Answer(
        408, _INVALID, "the session is over: its maximum duration is reached, or no event came in time; open another"
    ),
    Code.TOO_MANY_SESSIONS: _Answer(
        429,
        _LIMIT,
        "this tenant or this gateway has its maximum number of realtime sessions; close one, or retry later",
    ),
    Code.TENANT_BUSY: _Answer(
        429,
        _LIMIT,
        "the requests of this tenant that are being served or wait are too many or too large; retry later",
    ),
    Code.LISTED_HITS_EXCEEDED: _Answer(
        429,
        _LIMIT,
        "the hourly budget of this key for listed names is used up; retry after the seconds in `retry-after`",
    ),
    Code.LIMITS_UNAVAILABLE: _Answer(503, _SERVER, "the limits of this key could not be checked; try again later"),
    Code.INTERNAL: _Answer(500, _SERVER, "internal error; search the gateway log for this request id"),
}


UPSTREAM_ERROR = {"code": "server_error", "message": _ANSWERS[Code.UPSTREAM_FAILED].message}
"""Replaces an error that an upstream reports inside an answer; the upstream's text may contain anything."""


_NAMED = frozenset(
    {
        *(Code.FIELD_NOT_ALLOWED, Code.MEDIA_URL_NOT_ALLOWED),
        *(Code.RECORDING_TOO_LARGE, Code.RECORDING_TOO_LONG, Code.RECORDING_UNREADABLE),
    }
)
"""Codes whose message is about the field, which is present."""


NOT_SENT = frozenset(
    {
        *("connect", "tls", "full", "credentials"),
        *(
            "proxy-connect",
            "proxy-tls",
            "proxy-407",
            "proxy-refused",
            "proxy-timeout",
            "proxy-closed",
            "proxy-protocol",
        ),
    }
)
"""Causes of failures before a byte of the request was written, so that another server may be asked."""
_NOT_TAKEN_UP = NOT_SENT | {"open", "inexpressible"}


class UpstreamFailed(Exception):
    """No usable answer of an upstream.

    Args:
        cause: a fixed word such as `connect`, `timeout` or `status-503`; it contains no text of the upstream.
        refusal: why a retry cannot succeed without a configuration change; empty if it can.
    """

    def __init__(self, cause: str, *, refusal: str = "") -> None:
        super().__init__(cause)
        self.cause = cause
        self.refusal = refusal

    @property
    def used_nothing(self) -> bool:
        """The upstream cannot have begun an answer, so the request costs nothing."""
        return self.cause in _NOT_TAKEN_UP or self.cause.startswith("status-")


class Rejection(StrEnum):
    """Why an upstream rejects a request."""

    PARAMETERS = "rejected"
    TOO_LONG = "context"
    FIREWALL = "blocked"
    """A firewall in front of the upstream rejected the text, or probably did."""

    @property
    def is_everywhere(self) -> bool:
        """Other upstreams would reject the request too."""
        return self is Rejection.PARAMETERS


class UpstreamRejected(Exception):
    """The upstream rejected the request; its other servers would reject it too."""

    def __init__(self, why: Rejection) -> None:
        super().__init__(why.value)
        self.why = why


class Refused(Exception):
    """The gateway answers the request with an error. `str()` returns the code only."""

    def __init__(
        self, code: Code, *, headers: Headers | None = None, param: str | None = None, reasons: Sequence[str] = ()
    ) -> None:
        super().__init__(code.value)
        self.code = code
        self.reasons = reasons
        """Policy's reasons, such as `language:de`; the codes of the audit record."""
        self.param = param
        """The missing, invalid or refused field. Its name is from the API's schema, not from the request."""
        self.headers: Headers = headers or []

    @property
    def status(self) -> int:
        """The HTTP status."""
        return _ANSWERS[self.code].status


_NEXT_STEPS = {
    "language:und": "the language was not recognized: write a whole sentence",
    "language:": "the operator can add the language to `policy.name_languages`",
}
"""Next step of the client, by the beginning of a reason of the policy; the first that fits."""


def status_and_message(code: Code, param: str | None = None, reasons: Sequence[str] = ()) -> tuple[int, str]:
    """Return the HTTP status and the message of `code`.

    Args:
        param: the missing or invalid field.
        reasons: reasons of the policy; some of them have a next step.
    """
    answer = _ANSWERS[code]
    named = f": `{param}`" if code in _NAMED else f"; `{param}` is absent or invalid"
    where = named if param is not None else ""
    steps = (step for each in reasons for start, step in _NEXT_STEPS.items() if each.startswith(start))
    return answer.status, answer.message + where + "".join(f"; {step}" for step in [*steps][:1])


def error_body(code: Code, *, request_id: str, param: str | None = None, reasons: Sequence[str] = ()) -> bytes:
    """Return the JSON body for `code`.

    Args:
        param: the missing or invalid field.
    """
    answer = _ANSWERS[code]
    _, message = status_and_message(code, param, reasons)
    return orjson.dumps(
        {
            "error": {
                "message": message,
                "type": answer.type,
                "param": param,
                "code": code.value,
                "sovctl": sovctl_fields(code, request_id=request_id, reasons=reasons),
            }
        }
    )


def sovctl_fields(code: Code, *, request_id: str, reasons: Sequence[str] = ()) -> dict[str, Any]:
    """Return the `sovctl` object of an error.

    Args:
        reasons: reasons of the policy.
    """
    fields = {"reason": code.value, "request_id": request_id}
    return {**fields, "reasons": reasons} if reasons else fields
