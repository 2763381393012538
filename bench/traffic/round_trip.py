"""Sends one request before the measurements, to check tokenizing and restoring of a gateway."""

from __future__ import annotations

import http.client
import ssl
import urllib.request
from dataclasses import dataclass

import orjson

from bench.traffic.prompts import ECHO_FROM, Shape, fill, pieces
from bench.traffic.wrk import Target

_NUMBER = 0xFFFF0000  # outside the range of the loads


@dataclass(frozen=True)
class Seen:
    """Counts of the identifiers in one request."""

    identifiers: int
    left_in_clear: int
    """Identifiers received by the upstream."""
    came_back: int
    """Identifiers of the answer that were restored."""


def try_out(target: Target, upstream_port: int, shape: Shape) -> Seen:
    """Send one request and count its identifiers.

    Raises:
        RuntimeError: the status is not 200.
    """
    body, identifiers = fill(pieces(shape, 0), _NUMBER)
    status, answer = post(target, body)
    if status != 200:
        raise RuntimeError(f"expected an answer, got {status}: {answer[:500]!r}")
    with urllib.request.urlopen(f"http://127.0.0.1:{upstream_port}/last") as response:
        left = response.read().decode()
    said = orjson.loads(answer)["choices"][0]["message"]["content"]
    prompt = body.decode()
    repeated = [each for each in identifiers if each in prompt[prompt.index(ECHO_FROM) :]]
    return Seen(len(identifiers), sum(each in left for each in identifiers), sum(each in said for each in repeated))


def post(target: Target, body: bytes) -> tuple[int, bytes]:
    """Return status and body of one request on a new connection."""
    if target.is_tls:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE  # the bench's own certificate, on loopback
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            target.host, target.port, context=tls, timeout=60
        )
    else:
        connection = http.client.HTTPConnection(target.host, target.port, timeout=60)
    headers = {"Authorization": f"Bearer {target.key}", "Content-Type": "application/json"}
    try:
        connection.request("POST", target.path, body, headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()
