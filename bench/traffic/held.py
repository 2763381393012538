"""Counts stream events that a gateway withholds unnecessarily; upstream and client run in lockstep.

The prompt contains an identifier, so that answers are restored; the answer contains none. After each event the client
waits for the text without its last word, which may be the start of a token. An event counts as withheld if the text
does not arrive within `_PATIENCE_S`.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import ssl
import urllib.request

from bench.traffic.prompts import scenario
from bench.traffic.upstream import answer_text, pieces_of
from bench.traffic.wrk import Target

_PATIENCE_S = 2.0
_WORD_BEGUN = re.compile(r"[A-Za-z0-9_]+\Z")
_CHUNKS, _SIZE, _ECHO = 40, 570, "nothing has to be repeated here"


def events_held_back(target: Target, upstream_port: int) -> int:
    """Of 40 events of plain words."""
    prompt = f"Please write to held.back@example.com. {scenario(_SIZE, _CHUNKS, 0)} Summary: {_ECHO} END."
    body = {"model": "bench", "messages": [{"role": "user", "content": prompt}], "stream": True, "max_tokens": 256}
    data = json.dumps(body).encode()
    head = f"POST {target.path} HTTP/1.1\r\nHost: {target.host}\r\nAuthorization: Bearer {target.key}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    held, sent, raw = 0, "", b""
    with contextlib.closing(_connect(target)) as client:
        client.sendall(head.encode() + data)
        client.settimeout(_PATIENCE_S)
        with contextlib.suppress(TimeoutError):  # one that gathers the whole answer sends nothing yet
            while b"data: " not in raw:  # the first event says the role, and is sent at once
                raw += client.recv(65536)
        for piece in pieces_of(answer_text(_ECHO, _SIZE), _CHUNKS):
            sent += piece
            with urllib.request.urlopen(f"http://127.0.0.1:{upstream_port}/tick"):
                pass
            try:
                while len(_text(raw)) < len(_WORD_BEGUN.sub("", sent)):
                    if not (more := client.recv(65536)):
                        break
                    raw += more
            except TimeoutError:
                held += 1
    return held


def _connect(target: Target) -> socket.socket:
    plain = socket.create_connection((target.host, target.port), timeout=30)
    if not target.is_tls:
        return plain
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE  # the bench's own certificate, on loopback
    return tls.wrap_socket(plain)


def _text(raw: bytes) -> str:
    said = ""
    for block in raw.split(b"data: ")[1:]:
        end = block.find(b"\n")
        if end < 0 or block.startswith(b"[DONE]"):
            continue
        try:
            choices = json.loads(block[:end]).get("choices") or [{}]
        except json.JSONDecodeError:
            continue
        said += (choices[0].get("delta") or {}).get("content") or ""
    return said
