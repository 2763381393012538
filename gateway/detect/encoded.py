"""Text inside base64 and hexadecimal runs.

    decoded_runs("see YW5uYUBleGFtcGxlLmNvbQ== there")      # [(4, 28, "anna@example.com")]

A run counts when what it decodes to is text through and through; random keys, digests and pictures are not, and long
runs of those are an obstacle of their own (`inspection`). Linear: every run is decoded once.
"""

from __future__ import annotations

import base64
import binascii
import re

from sovctl.gateway.detect.view import Edit

_SHORTEST = 16  # characters; twelve bytes, or eight in hexadecimal
_LONGEST = 1 << 16  # characters; longer runs are pictures and files

# Sixteen characters and more of base64 or base64url, over several lines as RFC 2045 6.8 has it.
_BASE64 = re.compile(
    rf"(?<![A-Za-z0-9+/_=-])(?:[A-Za-z0-9+/_-]{{{_SHORTEST},{_LONGEST}}}"
    r"(?:\r?\n[A-Za-z0-9+/_-]{4,76}(?![A-Za-z0-9+/_-])){0,999}={0,2}"
    rf"|[A-Za-z0-9+/_-]{{{_SHORTEST - 2},{_SHORTEST - 1}}}={{1,2}})"
)
_HEX = re.compile(
    rf"(?<![0-9A-Za-z])(?:0x)?((?:[0-9A-Fa-f]{{2}}){{{_SHORTEST // 2},{_LONGEST // 2}}}"
    rf"|[0-9A-Fa-f]{{2}}(?:[ :][0-9A-Fa-f]{{2}}){{{_SHORTEST // 2 - 1},{_LONGEST // 2}}})(?![0-9A-Za-z])"
)
_LINE_ENDS = re.compile(r"[\r\n]+")
_UNPRINTABLE = re.compile(r"[^\t\n\r\x20-\x7e\xa0-\U0010ffff]")

GATE = (
    rf"[a-z0-9+/_-]{{{_SHORTEST}}}|[a-z0-9+/_-]{{{_SHORTEST - 2}}}="
    rf"|[0-9a-f]{{2}}(?:[ :][0-9a-f]{{2}}){{{_SHORTEST // 2 - 1}}}"
)
"""Found in every text that holds such a run."""


def decoded_runs(text: str) -> list[Edit]:
    """Every run that holds text, and the text."""
    hexadecimal = [(m.start(), m.end(), _text_of(_from_hex(m.group(1)))) for m in _HEX.finditer(text)]
    base64_ = [
        (m.start(), m.end(), _text_of(_from_base64(m.group())))
        for m in _BASE64.finditer(text)
        if _may_be_base64(m.group())
    ]
    return sorted(run for run in (*hexadecimal, *base64_) if run[2])


def _may_be_base64(run: str) -> bool:
    """False for words, numbers and paths of one case: base64 of text mixes capitals into small letters."""
    return not (run.islower() or run.isupper() or run.isdigit())


def _from_base64(run: str) -> bytes:
    run = _LINE_ENDS.sub("", run).rstrip("=").replace("-", "+").replace("_", "/")
    if len(run) % 4 == 1:
        run = run[:-1]
    try:
        return base64.b64decode(run + "=" * (-len(run) % 4))
    except binascii.Error:
        return b""


def _from_hex(run: str) -> bytes:
    return bytes.fromhex(run.replace(":", " "))


def _text_of(data: bytes) -> str:
    """`data` as text; empty when it is none."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ""
    return "" if _UNPRINTABLE.search(text) else text
