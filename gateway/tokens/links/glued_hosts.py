"""Text after a value that would make the value a part of a host name or of an e-mail address.

may_be_glued(".evil.example")                     # True: a quick test
glued_end("IBAN.evil.example now", 4, 21)         # 17
"""

from __future__ import annotations

import re

from .openers import TLD

# Characters that linkify-it (5.0) takes for a part of a host name, and of the local part of an address: also symbols.
_OTHER = r"\s<>\"'()\[\]{}!?/\\*#%\u2010-\u2027\u2030-\u205e\u3001-\u3003\u3008-\u3011\uff01\uff0c\uff1a\uff1b"
_LABEL = rf"[^{_OTHER},;:&@.]"
FOLLOWING = re.compile(rf"(?:[^{_OTHER}]|[\\#])*\Z")
_GLUED = re.compile(
    rf"(?:{_LABEL}|\.){{0,100}}?\.(?:(?:{_LABEL}{{1,63}}\.)+[^\W\d_]{{2}}|{TLD}(?![\w-])|[xX][nN]--)"
    rf"|[^{_OTHER}@]{{0,100}}@{_LABEL}{{1,63}}\.\w"
)
_HINT = re.compile(rf"[^{_OTHER}@.]{{0,100}}[@.][^\s]")
_APART = ("", " ", "\n")  # most values are followed by these
_END = re.compile("[\t-\r <]")  # GFM ends an address there


def glued_end(text: str, start: int, end: int) -> int:
    """Return the end of the host name or address in `text[start:end]` that the text before would belong to.

    `start` without one.
    """
    match = _GLUED.match(text, start, end)
    if match is None:
        return start
    stop = _END.search(text, match.end(), end)
    return stop.start() if stop is not None else end


def may_be_glued(text: str, position: int = 0) -> bool:
    """Return whether the text from `position` on may continue a host name or address. Fast."""
    return text[position : position + 1] not in _APART and _HINT.match(text, position) is not None


def is_glued(following: str) -> bool:
    """Return whether the text after a value continues a host name or address that the value begins."""
    return _HINT.match(following) is not None and _GLUED.match(following) is not None
