"""What a client is told when it gets no answer: one table of reason codes.

The body has the shape of OpenAI's errors, with our reason beside it. A message says what was expected and what to do;
it never repeats anything that was in the request or that an upstream said.

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
    TOO_DEEP = "too_deep"
    BODY_TOO_LARGE = "body_too_large"
    HEAD_TOO_LARGE = "head_too_large"
    REQUEST_TIMEOUT = "request_timeout"
    INVALID_TIMEOUT = "invalid_timeout"
    INVALID_CONVERSATION = "invalid_conversation"
    INVALID_API_KEY = "invalid_api_key"
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
    AUDIT_UNAVAILABLE = "audit_unavailable"
    VAULT_UNAVAILABLE = "vault_unavailable"
    LIMITS_UNAVAILABLE = "limits_unavailable"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    type: str
    message: str


_INVALID, _AUTH, _POLICY, _SERVER = "invalid_request_error", "authentication_error", "policy_error", "server_error"
_LIMIT = "rate_limit_error"

_ANSWERS: dict[Code, _Answer] = {
    Code.INVALID_HTTP: _Answer(400, _INVALID, "expected a request in HTTP/1.1; no https where the gateway has no TLS"),
    Code.INVALID_JSON: _Answer(400, _INVALID, "expected a JSON object as the body"),
    Code.INVALID_FORM: _Answer(
        400, _INVALID, "expected a form (multipart/form-data) in UTF-8, with `file` and `model`"
    ),
    Code.INVALID_REQUEST: _Answer(400, _INVALID, "expected a body of this API"),
    Code.TOO_DEEP: _Answer(400, _INVALID, "expected JSON that is nested less deeply"),
    Code.BODY_TOO_LARGE: _Answer(413, _INVALID, "expected a smaller body"),
    Code.HEAD_TOO_LARGE: _Answer(431, _INVALID, "expected fewer or shorter header fields"),
    Code.REQUEST_TIMEOUT: _Answer(408, _INVALID, "expected the whole request in less time; the connection is closed"),
    Code.INVALID_CONVERSATION: _Answer(
        400, _INVALID, "expected x-sovctl-conversation with 1 to 128 printable ASCII characters and no spaces"
    ),
    Code.INVALID_TIMEOUT: _Answer(400, _INVALID, "expected x-request-timeout in seconds, above 0"),
    Code.INVALID_API_KEY: _Answer(
        401, _AUTH, "expected `Authorization: Bearer` with a key or a token that this gateway accepts"
    ),
    Code.ROUTE_NOT_ALLOWED: _Answer(403, _AUTH, "expected a model that this key may use; GET /v1/models lists them"),
    Code.SURFACE_NOT_ALLOWED: _Answer(403, _AUTH, "expected a path that this key may use"),
    Code.MODEL_NOT_FOUND: _Answer(404, _INVALID, "expected a model of this gateway; GET /v1/models lists them"),
    Code.NOT_FOUND: _Answer(
        404,
        _INVALID,
        "expected a path that this gateway serves; the base URL ends in /v1 for OpenAI's clients, and does not for "
        "Anthropic's",
    ),
    Code.HANDOFF_NOT_FOUND: _Answer(404, _INVALID, "expected a hand-off of this client that is still kept"),
    Code.METHOD_NOT_ALLOWED: _Answer(405, _INVALID, "expected a method that `allow` names"),
    Code.UNSUPPORTED_ENCODING: _Answer(415, _INVALID, "expected a body that is not compressed"),
    Code.STATE_NOT_KEPT: _Answer(
        404, _INVALID, "no response, conversation, prompt or file is kept here; send the whole input with each request"
    ),
    Code.SURFACE_NOT_SERVED: _Answer(
        404,
        _INVALID,
        "expected an API that this model is served by where policy lets the request go; the gateway's settings list "
        "them as `surfaces` of its upstreams",
    ),
    Code.POLICY_BLOCKED: _Answer(
        403, _POLICY, "the policy of this site refuses requests with this kind of content; remove it and try again"
    ),
    Code.STAYS_ON_PREM: _Answer(
        403, _POLICY, "policy keeps this request on-prem, and this model is served by no on-prem pool; it was not sent"
    ),
    Code.RATE_LIMIT_EXCEEDED: _Answer(
        429, _LIMIT, "a limit of this key or its team is reached; wait as long as `retry-after` says"
    ),
    Code.REQUEST_EXCEEDS_LIMIT: _Answer(
        429,
        _LIMIT,
        "this request alone may use more tokens or money than a limit of this key, its team or this model allows; "
        "shorten it, or set a smaller `max_tokens`",
    ),
    Code.INSUFFICIENT_QUOTA: _Answer(
        429, "insufficient_quota", "the budget of this key or its team is used up; `retry-after` says until when"
    ),
    Code.UPSTREAM_REJECTED: _Answer(400, _INVALID, "the model server did not accept the request's parameters"),
    Code.UPSTREAM_BLOCKED: _Answer(
        403,
        _INVALID,
        "what stands before the model server, such as a firewall, refused this request, maybe for its words",
    ),
    Code.CONTEXT_LENGTH_EXCEEDED: _Answer(
        400, _INVALID, "the prompt and the answer asked for are longer than the model's context; shorten one of them"
    ),
    Code.UPSTREAM_FAILED: _Answer(502, _SERVER, "no model server gave an answer; try again"),
    Code.UPSTREAM_MISCONFIGURED: _Answer(
        502,
        _SERVER,
        "no model server takes requests of this gateway: its key, its address or its model's name there is "
        "wrong; whoever runs the gateway finds it in the log",
    ),
    Code.POOL_UNAVAILABLE: _Answer(
        503,
        _SERVER,
        "policy keeps this request on-prem, and the on-prem pool does not answer; it was not sent elsewhere",
    ),
    Code.DEADLINE_EXCEEDED: _Answer(504, _SERVER, "no answer began in the time that was given; try again"),
    Code.ANSWER_WITHHELD: _Answer(
        403, _POLICY, "the model's answer did not pass this site's checks, so it was not released; ask in another way"
    ),
    Code.HANDOFF_QUEUE_FULL: _Answer(
        503, _SERVER, "a person has to look at this answer, and as many wait as can be looked at; try again later"
    ),
    Code.HANDOFF_UNAVAILABLE: _Answer(
        503, _SERVER, "a person has to look at this answer, and nobody could be told; try again"
    ),
    Code.AUDIT_UNAVAILABLE: _Answer(503, _SERVER, "the audit record could not be written, so nothing was answered"),
    Code.VAULT_UNAVAILABLE: _Answer(
        503, _SERVER, "what stands behind tokens could not be kept, so nothing was sent; try again"
    ),
    Code.LIMITS_UNAVAILABLE: _Answer(503, _SERVER, "the limits of this key could not be checked; try again"),
    Code.INTERNAL: _Answer(500, _SERVER, "the gateway made a mistake; its log has the request id"),
}


UPSTREAM_ERROR = {"code": "server_error", "message": _ANSWERS[Code.UPSTREAM_FAILED].message}
"""What stands in an answer in the place of an upstream's own words about what went wrong."""


_NOT_TAKEN_UP = frozenset({"connect", "tls", "full", "open"})


class UpstreamFailed(Exception):
    """No usable answer. `cause` is a fixed word such as `connect`, `timeout`, `status-503`; never upstream's text.

    Args:
        refusal: why trying again is no use before the settings are mended, in words for the operator; empty when it is.
    """

    def __init__(self, cause: str, *, refusal: str = "") -> None:
        super().__init__(cause)
        self.cause = cause
        self.refusal = refusal

    @property
    def used_nothing(self) -> bool:
        """True when no answer can have been begun, so that nothing is to be paid for."""
        return self.cause in _NOT_TAKEN_UP or self.cause.startswith("status-")


class Rejection(StrEnum):
    """What an upstream has against a request itself."""

    PARAMETERS = "rejected"
    TOO_LONG = "context"
    FIREWALL = "blocked"
    """What stands before its servers refuses this text, or is likely to."""

    @property
    def is_everywhere(self) -> bool:
        """True when another upstream would say the same."""
        return self is Rejection.PARAMETERS


class UpstreamRejected(Exception):
    """The upstream did not accept the request itself; another server of it won't either."""

    def __init__(self, why: Rejection) -> None:
        super().__init__(why.value)
        self.why = why


class Refused(Exception):
    """The request gets this answer instead of a model's. Its text is the code, nothing else."""

    def __init__(
        self, code: Code, *, headers: Headers | None = None, param: str | None = None, reasons: Sequence[str] = ()
    ) -> None:
        super().__init__(code.value)
        self.code = code
        self.reasons = reasons
        """Why policy keeps or refuses the request, such as `language:de`: codes of its audit record."""
        self.param = param
        """A field of this API that is absent or of another form; a name of ours, never of the request."""
        self.headers: Headers = headers or []

    @property
    def status(self) -> int:
        """The HTTP status."""
        return _ANSWERS[self.code].status


def status_and_message(code: Code, param: str | None = None) -> tuple[int, str]:
    """What `code` is in HTTP and in words.

    Args:
        param: the field that it is about.
    """
    answer = _ANSWERS[code]
    where = f"; `{param}` is absent, or not as it should be" if param is not None else ""
    return answer.status, answer.message + where


def error_body(code: Code, *, request_id: str, param: str | None = None, reasons: Sequence[str] = ()) -> bytes:
    """The JSON body for `code`.

    Args:
        param: the field that it is about.
    """
    answer = _ANSWERS[code]
    _, message = status_and_message(code, param)
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
    """What stands in an error beside the API's own fields.

    Args:
        reasons: of policy.
    """
    said = {"reason": code.value, "request_id": request_id}
    return {**said, "reasons": reasons} if reasons else said
