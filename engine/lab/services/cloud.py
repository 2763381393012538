"""Simulated cloud on the host outside the perimeter.

OpenAI-compatible over TLS: GET /v1/models, POST /v1/chat/completions, with and without streaming, with an API key. It
answers with the last user message, in chunks that split words and tokens, and captures all requests. Bytes that are not
TLS, and data for the catch-all port, are captured too.

    DIR: ca.pem server.pem server.key api-keys (one per line)   ->   DIR/capture.jsonl
"""

from __future__ import annotations

import itertools
import json
import socket
import socketserver
import ssl
import sys
import threading
import time
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .. import layout
from . import certificate
from .capture import Capture, readable, without_keys

MODEL = "echo"
KEYS_FILE = "api-keys"
CAPTURE_FILE = "capture.jsonl"
SIMULATED_HEADER = ("x-simulated", "sovctl-lab")
MAX_BODY_BYTES = 16 << 20
MAX_RAW_BYTES = 1 << 20
_IDLE_LIMIT_S = 30.0
_RAW_IDLE_LIMIT_S = 5.0
_TLS_HANDSHAKE = 0x16  # content type of a TLS ClientHello record (RFC 8446 5.1)
_CHUNK_LENGTHS = (3, 7, 4, 6, 5)  # characters; not aligned to words, so that chunks split tokens


def text_chunks(text: str) -> Iterator[str]:
    """Yield a text in chunks of 3 to 7 characters; the last may be shorter."""
    lengths = itertools.cycle(_CHUNK_LENGTHS)
    start = 0
    while start < len(text):
        end = start + next(lengths)
        yield text[start:end]
        start = end


def last_user_text(body: dict[str, Any]) -> str:
    """Return the text of the last user message. Parts of other types than "text" are omitted."""
    for message in reversed(body["messages"]):
        if message.get("role") == "user":
            content = message.get("content") or ""
            if isinstance(content, str):
                return content
            return "".join(part.get("text", "") for part in content if part.get("type") == "text")
    return ""


def count(text: str) -> int:
    """Return the number of words, at least 1, as a number of tokens."""
    return max(1, len(text.split()))


def usage(body: dict[str, Any], answer: str) -> dict[str, int]:
    """Return the usage block of an answer."""
    prompt = sum(count(json.dumps(message.get("content") or "")) for message in body["messages"])
    return {
        "prompt_tokens": prompt,
        "completion_tokens": count(answer),
        "total_tokens": prompt + count(answer),
    }


def completion(body: dict[str, Any], *, identity: str, created: int) -> dict[str, Any]:
    """Return a chat completion."""
    answer = last_user_text(body)
    message = {"role": "assistant", "content": answer}
    return {
        "id": identity,
        "object": "chat.completion",
        "created": created,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": usage(body, answer),
    }


def chunks(body: dict[str, Any], *, identity: str, created: int) -> Iterator[dict[str, Any]]:
    """Yield a chat completion as a stream: role, text chunks, end, and the usage chunk if requested."""
    answer = last_user_text(body)
    base = {"id": identity, "object": "chat.completion.chunk", "created": created, "model": MODEL}

    def chunk(delta: dict[str, str], finish_reason: str | None = None) -> dict[str, Any]:
        return {**base, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in text_chunks(answer):
        yield chunk({"content": piece})
    yield chunk({}, "stop")
    if (body.get("stream_options") or {}).get("include_usage"):
        yield {**base, "choices": [], "usage": usage(body, answer)}


class Handler(BaseHTTPRequestHandler):
    """Handles one connection of a client."""

    protocol_version = "HTTP/1.1"
    server_version = "sovctl-lab-cloud"
    sys_version = "(simulated)"
    timeout = _IDLE_LIMIT_S
    server: CloudServer

    def handle_any(self) -> None:
        """Capture the request, then answer it."""
        body = self._read_body()
        if body is None:
            return
        keys = self.server.keys()
        self.server.capture.record(
            "http",
            self.client_address[0],
            method=self.command,
            path=self.path,
            headers=without_keys(self.headers.items(), keys),
            **readable(body),
        )
        scheme, _, key = self.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or key.strip() not in keys:
            self._reject(HTTPStatus.UNAUTHORIZED, "invalid_api_key", "unknown API key")
            return
        route = {("GET", "/v1/models"): self._models, ("POST", "/v1/chat/completions"): self._chat}
        answer = route.get((self.command, self.path.partition("?")[0]))
        if answer is None:
            self._reject(HTTPStatus.NOT_FOUND, "not_found", f"no {self.command} {self.path.partition('?')[0]} here")
        else:
            answer(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = handle_any  # noqa: N815 - http.server's names

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Do not log, because the capture contains the request."""

    def _read_body(self) -> bytes | None:
        """Return the body, by Content-Length or chunks; None if it was rejected."""
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            data = b""
            while size := int(self.rfile.readline(64).split(b";")[0] or b"0", 16):
                data += self.rfile.read(size)
                self.rfile.readline(8)
                if len(data) > MAX_BODY_BYTES:
                    break
            else:
                while self.rfile.readline(8192).strip():
                    pass
        else:
            length = int(self.headers.get("Content-Length") or 0)
            data = self.rfile.read(min(length, MAX_BODY_BYTES + 1))
        if len(data) > MAX_BODY_BYTES:
            self.close_connection = True
            self._reject(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", f"expected at most {MAX_BODY_BYTES} bytes")
            return None
        return data

    def _models(self, _: bytes) -> None:
        model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "sovctl-lab (simulated)"}
        self._send(HTTPStatus.OK, {"object": "list", "data": [model]})

    def _chat(self, data: bytes) -> None:
        try:
            body = json.loads(data)
            model, _ = body["model"], last_user_text(body)
        except (ValueError, KeyError, TypeError, AttributeError):
            self._reject(HTTPStatus.BAD_REQUEST, "invalid_request_error", "expected a chat completion request")
            return
        if model != MODEL:
            self._reject(HTTPStatus.NOT_FOUND, "model_not_found", f"expected the model {MODEL!r}")
            return
        identity, created = f"chatcmpl-lab-{self.server.next_number()}", int(time.time())
        if body.get("stream"):
            self._stream(chunks(body, identity=identity, created=created))
        else:
            self._send(HTTPStatus.OK, completion(body, identity=identity, created=created))

    def _stream(self, parts: Iterator[dict[str, Any]]) -> None:
        self._begin(HTTPStatus.OK, "text/event-stream", ("Transfer-Encoding", "chunked"), ("Cache-Control", "no-cache"))
        for part in itertools.chain((json.dumps(part, ensure_ascii=False) for part in parts), ["[DONE]"]):
            event = f"data: {part}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def _reject(self, status: HTTPStatus, code: str, message: str) -> None:
        self._send(
            status, {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}
        )

    def _send(self, status: HTTPStatus, value: dict[str, Any]) -> None:
        data = json.dumps(value, ensure_ascii=False).encode()
        self._begin(status, "application/json", ("Content-Length", str(len(data))))
        if self.command != "HEAD":
            self.wfile.write(data)

    def _begin(self, status: HTTPStatus, kind: str, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (SIMULATED_HEADER, ("Content-Type", kind), *headers):
            self.send_header(name, value)
        self.end_headers()


class CloudServer(ThreadingHTTPServer):
    """HTTPS server of the cloud.

    Args:
        address: address and port to bind.
        folder: with the files named in the module's docstring.
    """

    daemon_threads = True

    def __init__(self, address: tuple[str, int], folder: Path) -> None:
        super().__init__(address, Handler)
        self._folder = folder
        self._numbers = itertools.count(1)
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.minimum_version = ssl.TLSVersion.TLSv1_2
        self._tls.load_cert_chain(folder / certificate.CERTIFICATE_FILE, folder / certificate.KEY_FILE)
        self.capture = Capture(folder / CAPTURE_FILE)

    def keys(self) -> list[str]:
        """Return the accepted API keys. The file is read for each request, because `up` may add a key."""
        file = self._folder / KEYS_FILE
        return file.read_text().split() if file.exists() else []

    def next_number(self) -> int:
        """Return the number of the next answer."""
        return next(self._numbers)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a TLS connection; capture and close any other. Runs in the thread of the connection."""
        request.settimeout(_IDLE_LIMIT_S)
        try:
            first = request.recv(1, socket.MSG_PEEK)
            if not first or first[0] != _TLS_HANDSHAKE:
                capture_raw(self.capture, request, client_address[0], self.server_port)
                self.shutdown_request(request)
                return
            request = self._tls.wrap_socket(request, server_side=True)
        except OSError:
            self.shutdown_request(request)  # the client rejected the certificate, or disconnected
            return
        super().process_request_thread(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print a traceback, except for a client that disconnected."""
        if not isinstance(sys.exception() if sys.version_info >= (3, 12) else sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class CatchAll(socketserver.ThreadingTCPServer):
    """Server that captures all data and does not answer."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], capture: Capture) -> None:
        super().__init__(address, socketserver.BaseRequestHandler)
        self._capture = capture

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Capture the data of a connection."""
        capture_raw(self._capture, request, client_address[0], self.server_address[1])


def capture_raw(capture: Capture, connection: socket.socket, peer: str, port: int) -> None:
    """Capture the bytes of a connection until it ends, is idle for `_RAW_IDLE_LIMIT_S`, or reaches `MAX_RAW_BYTES`.

    A connection without bytes is captured too, because it passed the perimeter, except for health checks of the lab.
    """
    connection.settimeout(_RAW_IDLE_LIMIT_S)
    data = b""
    try:
        while len(data) < MAX_RAW_BYTES and (part := connection.recv(65536)):
            data += part
    except OSError:
        pass  # idle, or reset by the client: capture the received bytes
    if data or peer != connection.getsockname()[0]:
        capture.record("raw", peer, port=port, **readable(data))


def main(folder: Path) -> None:
    """Serve until the process ends."""
    cloud = CloudServer((layout.CLOUD_ADDRESS, layout.CLOUD_PORT), folder)
    catch_all = CatchAll((layout.CLOUD_ADDRESS, layout.CATCH_ALL_PORT), cloud.capture)
    threading.Thread(target=catch_all.serve_forever, daemon=True).start()
    cloud.serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
