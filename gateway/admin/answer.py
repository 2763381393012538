"""Requests to the admin surface, and responses with their common headers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

import orjson
from starlette.types import Receive, Scope, Send

from ..access.certificate import PEER, Peer

_EVERY_ANSWER = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # with `no-referrer` browsers omit the origin of the page's own forms
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
]


@dataclass(frozen=True)
class AdminRequest:
    """One request."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    fields: Mapping[str, str]
    """Fields of a form or of a JSON object."""
    is_json: bool
    peer: Peer | None
    address: str = ""
    """Source address of the connection."""

    @classmethod
    async def read(cls, scope: Scope, receive: Receive, *, at_most: int) -> Self:
        """Read the whole request.

        Raises:
            ValueError: too large, or neither a form nor a JSON object.
        """
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        body = bytearray()
        while True:
            message = await receive()
            body += message.get("body", b"")
            if message["type"] == "http.disconnect" or len(body) > at_most:
                raise ValueError("too large, or cut off")
            if not message.get("more_body", False):
                break
        is_json = headers.get("content-type", "").partition(";")[0].strip() == "application/json"
        fields = _json_fields(bytes(body)) if is_json else dict(parse_qsl(body.decode("utf-8"), keep_blank_values=True))
        query = scope["query_string"].decode("latin-1")
        address, _ = scope.get("client") or ("", 0)
        peer = scope["state"].get(PEER)
        return cls(scope["method"], scope["path"], query, headers, fields, is_json, peer, address)

    def header(self, name: str) -> str | None:
        """Return a header by its lower-case name."""
        return self.headers.get(name)

    @property
    def is_same_site(self) -> bool:
        """False if the browser reports that another site made the request."""
        origin = self.header("origin")
        return origin is None or urlsplit(origin).netloc == self.header("host")


@dataclass
class AdminResponse:
    """One response."""

    status: int
    body: bytes
    content_type: str
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)

    def cookie(self, value: str) -> AdminResponse:
        """Return the same response with a cookie."""
        self.headers.append((b"set-cookie", value.encode("latin-1")))
        return self

    async def send(self, send: Send, *, policy: str) -> None:
        """Send it.

        Args:
            policy: the content security policy.
        """
        own = [(b"content-type", self.content_type.encode()), (b"content-length", b"%d" % len(self.body))]
        headers = [*own, *_EVERY_ANSWER, (b"content-security-policy", policy.encode()), *self.headers]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


def page(status: int, text: str) -> AdminResponse:
    """Return an HTML response."""
    return AdminResponse(status, text.encode(), "text/html; charset=utf-8")


def plain(status: int, text: str) -> AdminResponse:
    """Return a plain-text response."""
    return AdminResponse(status, text.encode(), "text/plain; charset=utf-8")


def redirect(path: str) -> AdminResponse:
    """Return a redirect."""
    return AdminResponse(303, b"", "text/plain; charset=utf-8", [(b"location", path.encode())])


def _json_fields(body: bytes) -> dict[str, str]:
    content: Any = orjson.loads(body or b"{}")
    if not isinstance(content, dict):
        raise ValueError("expected a JSON object")
    return {key: value for key, value in content.items() if isinstance(value, str)}
