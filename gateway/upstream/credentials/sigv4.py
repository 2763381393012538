"""Signatures of AWS, version 4, in the `Authorization` header. Pure.

    headers = signed_headers(keys, method="POST", authority="...", target="/model/a%3A0/converse", body=body,
                             region="eu-central-1", service="bedrock", now=datetime.now(UTC))

The path is encoded once more for the signature, because only S3 signs it as sent. Source: AWS, "Create a signed AWS API
request" (read 2026-11); the vectors of AWS's test suite are in tests/gateway/upstream/test_sigv4.py.
"""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime
from typing import NamedTuple
from urllib.parse import parse_qsl, quote

_ALGORITHM = "AWS4-HMAC-SHA256"
_END = "aws4_request"
_UNRESERVED = "-_.~"  # RFC 3986, 2.3, besides letters and digits


class AwsKeys(NamedTuple):
    """Keys of an identity; the representation shows none of the secrets."""

    access_key_id: str
    secret_access_key: str
    session_token: str | None = None
    """Of temporary keys."""

    def __repr__(self) -> str:
        return "AwsKeys(...)"


def signed_headers(
    keys: AwsKeys,
    *,
    method: str,
    authority: str,
    target: str,
    body: bytes,
    region: str,
    service: str,
    now: datetime,
) -> dict[str, str]:
    """Return the headers that sign a request.

    Args:
        authority: value of the `Host` header.
        target: path and query as sent; the path without `.` and `..`.
        now: in UTC.
    """
    time = now.strftime("%Y%m%dT%H%M%SZ")
    signed = {"host": authority, "x-amz-date": time}
    if keys.session_token is not None:
        signed["x-amz-security-token"] = keys.session_token
    path, _, query = target.partition("?")
    names = ";".join(sorted(signed))
    canonical = "\n".join(
        (
            method,
            quote(path or "/", safe="/" + _UNRESERVED),
            _canonical_query(query),
            *(f"{name}:{signed[name].strip()}" for name in sorted(signed)),
            "",
            names,
            hashlib.sha256(body).hexdigest(),
        )
    )
    scope = f"{time[:8]}/{region}/{service}/{_END}"
    to_sign = "\n".join((_ALGORITHM, time, scope, hashlib.sha256(canonical.encode()).hexdigest()))
    key = f"AWS4{keys.secret_access_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
    credential = f"Credential={keys.access_key_id}/{scope}"
    made = {name: value for name, value in signed.items() if name != "host"}
    return {**made, "authorization": f"{_ALGORITHM} {credential}, SignedHeaders={names}, Signature={signature}"}


def _canonical_query(query: str) -> str:
    pairs = [
        (quote(name, safe=_UNRESERVED), quote(value, safe=_UNRESERVED))
        for name, value in parse_qsl(query, keep_blank_values=True)
    ]
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))
