"""Beginnings of links: schemes, hosts with a path, destinations of markdown, addresses in CSS.

has_link_hint("see page 3")                       # False: a quick test that most texts need only
first_opener("see https://a.test/", 0)            # <re.Match; match='https:'>
"""

from __future__ import annotations

import re

_WORDS = ("https?:", "ftps?:", "wss?:", "file:", "data:", "javascript:", "mailto:", r"www\.")
# First letters spelled out: an expression with few initial characters matches in a tenth of the time.
_BEGUN = (f"{first}(?i:{word[1:]})" for word in _WORDS for first in (word[0], word[0].upper()))
_CSS = (r"[uU](?i:rl)\(", r"[iI](?i:mage-set)\(", r"@(?i:import)")
# Ends of host names that linkify-it (5.0) links without a scheme.
TLD = (
    r"(?:[A-Za-z]{2}|(?i:biz|com|edu|gov|net|org|pro|web|xxx|aero|asia|coop|info|museum|name|shop|рф"
    r"|xn--[a-z0-9-]{2,59}))"
)
_HOST_END = (
    rf"\.(?:(?:[^\W\d_]{{2,24}}|[xX][nN]--[A-Za-z0-9-]{{2,59}})\.?(?::[0-9]{{1,5}})?[/?#]|{TLD}:"
    r"|[0-9]{1,3}(?::[0-9]{1,5})?[/?#])"
)
OPENER = re.compile(
    "|".join((*_BEGUN, r"/[/\\]", r"\\\\", r"\]\(", *_CSS, "<[A-Za-z][A-Za-z0-9+.-]{1,31}:", _HOST_END))
)
_HOST_HINT = re.compile(_HOST_END)
_IP_END = re.compile(r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?::[0-9]{1,5})?[/?#]\Z")
_TAG_HINT = re.compile("<[A-Za-z]")
_SCHEMES = ("http", "https", "ftp", "ftps", "ws", "wss", "file", "data", "javascript", "mailto")
_MAX_SCHEME = max(map(len, _SCHEMES))
MAX_OPENER = 72  # characters: a full stop, the longest end of a host name, a port
TARGET = "]("
_HOST_SIGNS = "/?#:"
_MOST_SIGNS = 64
"""Signs that are looked at one by one."""
_MAX_IP = 24  # characters of an address with a port and a delimiter


def has_link_hint(text: str) -> bool:
    """Return False if `text` cannot contain a position in a URL, which is the common case. Fast."""
    # Searching one character is several times as fast as searching two.
    if "/" in text and ("//" in text or "/\\" in text):
        return True
    if ("]" in text and ("](" in text or "]:" in text)) or ("\\" in text and "\\\\" in text):
        return True
    if "<" in text and _TAG_HINT.search(text) is not None:
        return True
    lowered = text.lower()
    colon = lowered.find(":")
    while colon >= 0:
        if lowered.endswith(_SCHEMES, max(0, colon - _MAX_SCHEME), colon):
            return True
        colon = lowered.find(":", colon + 1)
    if "." in text and ("www." in lowered or _may_hold_host(text)):
        return True
    if "(" in text and ("url(" in lowered or "image-set(" in lowered):
        return True
    return "@" in text and "@import" in lowered


def _may_hold_host(text: str) -> bool:
    """Return False if no host name is followed by a path, a query, a fragment or a colon.

    The last full stop before such a sign belongs to the host name or ends it, with no space between them.
    """
    tries = _MOST_SIGNS
    for sign in _HOST_SIGNS:
        place = text.find(sign)
        while place >= 0:
            tries -= 1
            if not tries:
                return _HOST_HINT.search(text) is not None
            first = max(0, place - MAX_OPENER)
            stop = text.rfind(".", first, place)
            if stop >= 0 and text.find(" ", stop, place) < 0 and _HOST_HINT.search(text, first, place + 1) is not None:
                return True
            place = text.find(sign, place + 1)
    return False


def first_opener(text: str, position: int, before: str = "") -> re.Match[str] | None:
    """Return the first opener at `position` or later."""
    match = OPENER.search(text, position)
    while match is not None and match.group()[0] == "." and match.group()[1].isdigit():
        if _IP_END.search((before + text[max(position, match.end() - _MAX_IP) : match.end()])[-_MAX_IP:]):
            break
        match = OPENER.search(text, match.start() + 1)  # a number, no address
    return match
