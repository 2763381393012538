"""Text inside base64 and hexadecimal runs.

    decoded_runs("see YW5uYUBleGFtcGxlLmNvbQ== there", [3])      # [(4, 28, "anna@example.com")]

A run counts when what it decodes to is text through and through; random keys, digests and pictures are not, and long
runs of those are an obstacle of their own (`inspection`). Linear: every run is decoded once.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence

from sovctl.gateway.detect.scan import Pattern
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

PATTERNS = (
    Pattern(rf"(?:^|[^a-z0-9+/=_-])[a-z0-9+/_-]{{{_SHORTEST}}}"),
    Pattern(rf"(?:^|[^a-z0-9+/=_-])[a-z0-9+/_-]{{{_SHORTEST - 2},{_SHORTEST - 1}}}="),
    Pattern(rf"(?:^|[^0-9a-z])(?:0x)?[0-9a-f]{{{_SHORTEST}}}"),
    Pattern(rf"(?:^|[^0-9a-z])(?:0x)?[0-9a-f]{{2}}(?:[ :][0-9a-f]{{2}}){{{_SHORTEST // 2 - 1}}}"),
)
"""Where such runs begin, or right before."""

GATES = (
    Pattern(rf"[a-z0-9+/_-]{{{_SHORTEST}}}", is_once=True),
    Pattern(rf"[a-z0-9+/_-]{{{_SHORTEST - 2}}}=", is_once=True),
    # Any sign between, which costs the scanner less than spaces and colons alone.
    Pattern(rf"(?:[0-9a-f]{{2}}[^0-9a-z]){{{_SHORTEST // 2 - 1}}}[0-9a-f]{{2}}", is_once=True),
)
"""Where a text has such a run, one of them ends at most `REACH` characters behind the place of the first."""

REACH = 4 + 3 * _SHORTEST // 2


def decoded_runs(text: str, places: Sequence[int]) -> list[Edit]:
    """Every run that holds text, and the text.

    Args:
        places: where `PATTERNS` hit, sorted.
    """
    runs: list[Edit] = []
    done = [0] * len(_FORMS)
    for place in places:
        for index, (form, decoded) in enumerate(_FORMS):
            match = None if place < done[index] else form.match(text, place) or form.match(text, place + 1)
            if match is None:
                continue
            done[index] = match.end()
            if plain := _text_of(decoded(match)):
                runs.append((match.start(), match.end(), plain))
    return sorted(runs)


def _may_be_base64(run: str) -> bool:
    """False for words, numbers and paths of one case: base64 of text mixes capitals into small letters."""
    return not (run.islower() or run.isupper() or run.isdigit())


def _from_base64(match: re.Match[str]) -> bytes:
    run = match.group()
    if not _may_be_base64(run):
        return b""
    run = _LINE_ENDS.sub("", run).rstrip("=").replace("-", "+").replace("_", "/")
    if len(run) % 4 == 1:
        run = run[:-1]
    try:
        return base64.b64decode(run + "=" * (-len(run) % 4))
    except binascii.Error:
        return b""


def _from_hex(match: re.Match[str]) -> bytes:
    return bytes.fromhex(match.group(1).replace(":", " "))


_FORMS = ((_HEX, _from_hex), (_BASE64, _from_base64))


def _text_of(data: bytes) -> str:
    """`data` as text; empty when it is none."""
    is_wide = len(data) > 7 and not any(data[1:9:2])  # UTF-16 as PowerShell has it
    try:
        text = data.decode("utf-16-le" if is_wide else "utf-8")
    except UnicodeDecodeError:
        return ""
    return "" if _UNPRINTABLE.search(text) else text
