"""Login sessions in signed cookies, which every worker can verify without shared state.

Browsers also send a cookie with requests that another site triggers. Therefore a change also needs the form's token;
the
cookie is `SameSite=Strict` too. Pure: time is an argument.

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
    """Name, key and expiry (seconds since 1970) of a login."""

    name: str
    key_id: str
    method: Method
    until: float


class Sealer:
    """Signs sessions and forms.

    Args:
        key: secret of the gateway, the same in all workers.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def session(self, session: Session) -> str:
        """Return the cookie's value."""
        content = orjson.dumps([session.name, session.key_id, session.method.value, session.until])
        return f"{_text(content)}.{self._sealed(b'session', content)}"

    def read(self, cookie: str, *, now: float) -> Session | None:
        """Return the session of a cookie; None if it is expired or invalid."""
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
        """Return the token for forms of this operator."""
        return self._sealed(b"form", orjson.dumps([name, key_id]))

    def is_form_token(self, name: str, key_id: str, token: str) -> bool:
        """Return whether the token belongs to a form of this operator."""
        return hmac.compare_digest(self.form_token(name, key_id).encode(), token.encode("utf-8", "replace"))

    def _sealed(self, use: bytes, content: bytes) -> str:
        return _text(hmac.digest(self._key, use + b"\0" + content, "sha256"))


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
