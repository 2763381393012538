"""Logged in by cookie: what the cookie says is signed, so every worker knows it and none has to remember it.

A cookie is sent with whatever another site makes the browser send, so a change needs the form's own token as well; the
cookie is also `SameSite=Strict`. Pure: time is an argument.

    seal = Sealer(key)
    cookie = seal.session(Session("ops", "9f86d081884c", Method.API_KEY, until=now + 3600))
    seal.read(cookie, now=now), seal.form_token(session), seal.is_form_token(session, token)
"""

from __future__ import annotations

import base64
import hmac
from dataclasses import dataclass

import orjson

from ..access.principal import Method

COOKIE = "sovctl_admin"


@dataclass(frozen=True, slots=True)
class Session:
    """Who is logged in, with which key, until when (seconds since 1970)."""

    name: str
    key_id: str
    method: Method
    until: float


class Sealer:
    """Signs sessions and forms.

    Args:
        key: of the whole gateway, the same in all workers; secret.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def session(self, session: Session) -> str:
        """The cookie's value."""
        content = orjson.dumps([session.name, session.key_id, session.method.value, session.until])
        return f"{_text(content)}.{self._sealed(b'session', content)}"

    def read(self, cookie: str, *, now: float) -> Session | None:
        """The session a cookie stands for; None when it is over, or was not made here."""
        text, _, seal = cookie.partition(".")
        try:
            content = base64.urlsafe_b64decode(text.encode() + b"==")
        except ValueError:
            return None
        if not hmac.compare_digest(self._sealed(b"session", content).encode(), seal.encode("utf-8", "replace")):
            return None
        name, key_id, method, until = orjson.loads(content)
        return Session(name, key_id, Method(method), until) if now < until else None

    def form_token(self, name: str, key_id: str) -> str:
        """What a form of this operator carries."""
        return self._sealed(b"form", orjson.dumps([name, key_id]))

    def is_form_token(self, name: str, key_id: str, token: str) -> bool:
        """True when a form was made for this operator."""
        return hmac.compare_digest(self.form_token(name, key_id).encode(), token.encode("utf-8", "replace"))

    def _sealed(self, use: bytes, content: bytes) -> str:
        return _text(hmac.digest(self._key, use + b"\0" + content, "sha256"))


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
