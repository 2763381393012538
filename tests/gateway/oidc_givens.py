"""An identity provider: keys, tokens, and a server on loopback that publishes the keys over TLS."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
import time
from pathlib import Path
from typing import Any, Self

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

ISSUER = "https://idp.bank.example/realms/staff"
AUDIENCE = "sovctl"

KEYS: dict[str, Any] = {
    "rsa": rsa.generate_private_key(65537, 2048),
    "ec": ec.generate_private_key(ec.SECP256R1()),
    "ed": ed25519.Ed25519PrivateKey.generate(),
    "next": ec.generate_private_key(ec.SECP256R1()),
}
ALGORITHMS = {"rsa": "RS256", "ec": "ES256", "ed": "EdDSA", "next": "ES256"}
_WRITERS: dict[str, Any] = {"RS256": RSAAlgorithm, "ES256": ECAlgorithm, "EdDSA": OKPAlgorithm}


def jwk(kid: str, **more: Any) -> dict[str, Any]:
    """The public half of a key, as JWK."""
    return {**_WRITERS[ALGORITHMS[kid]].to_jwk(KEYS[kid].public_key(), as_dict=True), "kid": kid, **more}


def jwks(*kids: str) -> bytes:
    """A key set."""
    return json.dumps({"keys": [jwk(kid) for kid in kids]}).encode()


def claims(**changes: Any) -> dict[str, Any]:
    """Claims of a good token of a member of `staff`; one that is changed to None is left out."""
    now = int(time.time())
    content = {
        "iss": ISSUER,
        "aud": [AUDIENCE, "other"],
        "sub": "5f1c",
        "iat": now,
        "exp": now + 600,
        "groups": ["staff", "cards"],
        **changes,
    }
    return {name: value for name, value in content.items() if value is not None}


def token(kid: str = "rsa", *, headers: dict[str, Any] | None = None, algorithm: str = "", **changes: Any) -> str:
    """A signed token."""
    header = {"kid": kid} if headers is None else headers
    return jwt.encode(claims(**changes), KEYS[kid], algorithm or ALGORITHMS[kid], headers=header)


class JwksServer:
    """Publishes `content` over TLS and counts who asked. Use as a context manager."""

    def __init__(self, certificate_file: Path, key_file: Path, content: bytes) -> None:
        self.content = content
        self.status = 200
        self.asked = 0
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked += 1
                self.send_response(server.status)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", str(len(server.content)))
                self.end_headers()
                self.wfile.write(server.content)

            def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate_file, key_file)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        """Where the keys are."""
        return f"https://127.0.0.1:{self._server.server_address[1]}/certs"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
