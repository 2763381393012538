"""Escapes that do not hide a link: of JSON and CSS at any depth, and entities of HTML.

unescaped(r"https:\\u002f\\/a.test")               # "https://a.test"
unescaped("https&colon;&sol;&sol;a.test")         # the same
begun_escape("see \\u00")                         # 4: the start of an escape that is not complete
"""

from __future__ import annotations

import html
import re

# At any depth of JSON in JSON. The bounds keep matching linear; deeper nesting does not occur in practice.
_ESCAPE = re.compile(
    r"\\{1,16}(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([0-9A-Fa-f]{1,6})[ \t\n\f]?|([/:.()\[\]<>\"'@?#&;=_-]))"
    r"|(&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});?)"
)
_BEGUN = re.compile(
    r"(?:\\{1,16}(?:u[0-9A-Fa-f]{0,3}|x[0-9A-Fa-f]?|[0-9A-Fa-f]{0,6})|&(?:#[xX]?[0-9A-Fa-f]{0,7}|[A-Za-z][A-Za-z0-9]{0,31})?)\Z"
)


def has_escapes(text: str) -> bool:
    """Return False if `text` has no escape. Fast."""
    return "\\" in text or "&" in text


def unescaped(text: str) -> str:
    """Return the text with escapes undone."""
    return _ESCAPE.sub(_character, text)


def begun_escape(text: str) -> int:
    """Return the start of an incomplete escape at the end of the text; the length of the text without one."""
    begun = _BEGUN.search(text)
    return begun.start() if begun else len(text)


def _character(escape: re.Match[str]) -> str:
    if escape.group(5):
        return html.unescape(escape.group(5))
    code = escape.group(1) or escape.group(2) or escape.group(3)
    return escape.group(4) or chr(min(int(code, 16), 0x10FFFF))
