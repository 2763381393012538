"""Signatures of AWS, against vectors of AWS's own test suite.

Source: `aws-sig-v4-test-suite` of AWS, cases `get-vanilla`, `post-vanilla`, `get-vanilla-query-order-key-case` and
`post-sts-header-before` (values compared with aws4_testsuite copies of several projects, read 2026-11).
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sovctl.gateway.domain.errors import UpstreamFailed
from sovctl.gateway.settings import BedrockSettings
from sovctl.gateway.upstream.credentials.aws_keys import AwsAuthorization, read_keys
from sovctl.gateway.upstream.credentials.sigv4 import AwsKeys, signed_headers
from sovctl.support.errors import InputError

NOW = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
KEYS = AwsKeys("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
TOKEN = (
    "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwt"
    "hAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVX"
    "AkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
)
VECTORS = [
    ("GET", "/", None, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    ("POST", "/", None, "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    (
        *("GET", "/?Param2=value2&Param1=value1", None),
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    ),
    ("POST", "/", TOKEN, "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"),
]


@pytest.mark.parametrize(
    ("method", "target", "token", "signature"), VECTORS, ids=["get", "post", "query order", "session token"]
)
def test_signs_as_awss_test_suite(method: str, target: str, token: str | None, signature: str) -> None:
    headers = signed_headers(
        KEYS._replace(session_token=token),
        method=method,
        authority="example.amazonaws.com",
        target=target,
        body=b"",
        region="us-east-1",
        service="service",
        now=NOW,
    )
    names = "host;x-amz-date;x-amz-security-token" if token else "host;x-amz-date"
    assert headers["authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        f"SignedHeaders={names}, Signature={signature}"
    )
    assert headers["x-amz-date"] == "20150830T123600Z"
    assert headers.get("x-amz-security-token") == token


def test_keys_are_not_in_a_representation() -> None:
    assert "wJalr" not in f"{KEYS!r} {KEYS}"


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o600)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "[other]\naws_access_key_id=a\naws_secret_access_key=b\n",
        "[default]\naws_access_key_id=a\n",
        "aws_access_key_id=a\n",
        "[default]\naws_access_key_id=a\naws_secret_access_key=\n",
        "[default]\naws_access_key_id=\u00e9\naws_secret_access_key=b\n",
    ],
    ids=["another profile", "no secret", "no section", "empty", "not ASCII"],
)
def test_refuses_a_file_without_usable_keys(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError) as raised:
        read_keys(write(tmp_path / "aws", text), "default")
    assert "aws_access_key_id=a" not in str(raised.value)


def test_refuses_keys_that_others_can_read(tmp_path: Path) -> None:
    file = write(tmp_path / "aws", "[default]\naws_access_key_id=a\naws_secret_access_key=b\n")
    file.chmod(0o644)
    with pytest.raises(InputError, match="readable by others"):
        read_keys(file, "default")


def test_replaced_keys_are_used_and_unusable_ones_stop_requests(tmp_path: Path) -> None:
    file = write(tmp_path / "aws", "[default]\naws_access_key_id=first\naws_secret_access_key=b\n")
    settings = BedrockSettings(region="eu-central-1", credentials_file=file)
    authorization = AwsAuthorization(settings, file, now=lambda: NOW)

    def sign() -> str:
        return asyncio.run(authorization.headers(authority="x", target="/", body=b""))["authorization"]

    assert "Credential=first/20150830/eu-central-1/bedrock/" in sign()
    write(file, "[default]\naws_access_key_id=second\naws_secret_access_key=b\naws_session_token=t\n")
    assert "Credential=second/" in sign()
    write(file, "[default]\n")
    with pytest.raises(UpstreamFailed, match="credentials"):
        sign()
    write(file, "[default]\naws_access_key_id=third\naws_secret_access_key=b\n")
    assert "Credential=third/" in sign()
