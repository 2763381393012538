"""One HTTPS client for the service and the gateway: JSON, mutual TLS, bounded retries, no proxy of the environment."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sovctl.support.errors import InputError, NodeUnreachable, SovctlError

MAX_ANSWER_BYTES = 512 << 20
_WAITS_S = (1.0, 3.0, 9.0)  # before each further attempt; a restart of the service takes about 5 s


class Rejected(SovctlError):
    """The server answered with an error of the request.

    Args:
        status: HTTP status, 400 to 499.
        code: of the error in the answer; empty if absent.
    """

    def __init__(self, message: str, *, status: int, code: str, where: str) -> None:
        super().__init__(message, where=where)
        self.status = status
        self.code = code


class HttpsClient:
    """Connection to one server, one for each thread.

    Args:
        name: of the server, for messages.

    Raises:
        InputError: a certificate or key is unusable.
    """

    def __init__(
        self,
        url: str,
        *,
        name: str,
        timeout_s: float,
        ca: Path | None = None,
        certificate: Path | None = None,
        key: Path | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        self._parts = urlsplit(url)
        self._name = name
        self._timeout_s = timeout_s
        self._headers = headers or {}
        self._open: list[http.client.HTTPConnection] = []
        self._tls = _tls(ca, certificate, key, name) if self._parts.scheme == "https" else None
        self._local = threading.local()

    def close(self) -> None:
        """Close the connections of all threads."""
        for connection in self._open:
            connection.close()

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON of the answer; None if it is empty.

        All requests are idempotent, so a failed one is repeated three times.

        Raises:
            NodeUnreachable: no answer, or a server error.
            Rejected: the server rejects the request.
        """
        data = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        for wait_s in (*_WAITS_S, None):
            try:
                status, content = self._exchange(method, path, data)
            except ssl.SSLCertVerificationError as error:
                raise InputError(
                    f"the certificate of the server is not trusted: {error.verify_message}",
                    where=self._name,
                    hint="`ca`",
                ) from error
            except (OSError, http.client.HTTPException) as error:
                failure = f"no answer: {type(error).__name__}"
            else:
                if status < 500:
                    return self._value(status, content)
                failure = f"status {status}"
            if wait_s is None:
                break
            time.sleep(wait_s)
        raise NodeUnreachable(failure, where=self._name, hint="repeat the command; it continues")

    def _exchange(self, method: str, path: str, data: bytes | None) -> tuple[int, bytes]:
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connection()
            self._open.append(connection)
        headers = {**self._headers, **({"Content-Type": "application/json"} if data is not None else {})}
        try:
            connection.request(method, path, body=data, headers=headers)
            answer = connection.getresponse()
            content = answer.read(MAX_ANSWER_BYTES + 1)
        except BaseException:
            connection.close()
            self._local.connection = None
            raise
        if len(content) > MAX_ANSWER_BYTES:
            raise http.client.HTTPException("the answer is too large")
        return answer.status, content

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._tls is None:
            return http.client.HTTPConnection(host, port, timeout=self._timeout_s)
        return http.client.HTTPSConnection(host, port, timeout=self._timeout_s, context=self._tls)

    def _value(self, status: int, content: bytes) -> Any:
        try:
            value = json.loads(content) if content.strip() else None
        except (ValueError, RecursionError):
            value = None
            if status < 400:
                raise NodeUnreachable("the answer is not JSON", where=self._name) from None
        if 200 <= status < 300:
            return value
        error = value.get("error") if isinstance(value, dict) else None
        details = error if isinstance(error, dict) else {}
        message, code = details.get("message"), details.get("code")
        raise Rejected(
            str(message)[:300] if message else f"status {status}", status=status, code=str(code or ""), where=self._name
        )


def _tls(ca: Path | None, certificate: Path | None, key: Path | None, name: str) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=ca)
        if certificate is not None:
            context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise InputError(
            f"certificate or key unusable: {reason}", where=name, hint="`ca`, `certificate`, `key`"
        ) from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2  # NIST SP 800-52r2, 3.1
    return context
