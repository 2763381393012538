"""Decodes text that a request carries as a file: a `data:` URI, or base64 as a file's content. Pure.

    text, wrapping = unwrapped("data:text/csv;base64,YW5uYUBleGFtcGxlLmNvbQ==", None)
    wrapping.wrap("EMAIL_7K2M...")      # the same URI with another text in it

Only content that is entirely text is decoded. A picture, a PDF or an archive is left as it is, whatever its media type,
and is an obstacle.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes

# RFC 2397; a parameter names the character set.
_DATA_URI = re.compile(
    r"data:([\w.+-]+/[\w.+-]+)?((?:;[\w-]+=[^;,\s]{0,80}){0,8})(;base64)?,", re.IGNORECASE | re.ASCII
)
_CHARSET = re.compile(r";charset=(?:utf-?8|us-ascii)(?:;|$)", re.IGNORECASE)
_TEXT_TYPE = re.compile(
    r"text/.+|application/(?:json|(?:x-)?ndjson|jsonl|xml|(?:x-)?yaml|toml|csv|sql|rtf|javascript)|.+\+(?:json|xml)",
    re.IGNORECASE,
)
_PROSE_TYPES = frozenset({"text/plain", "text/markdown", "text/html", "text/rtf", "application/rtf", ""})
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_BLANKS = re.compile(r"[ \t\r\n]+")


@dataclass(frozen=True, slots=True)
class Wrapping:
    """Encoding of a text in a file."""

    head: str
    """Everything before the content."""
    is_base64: bool
    is_prose: bool
    """False for tables and data, whose language cannot be detected."""

    def wrap(self, text: str) -> str:
        """Return `text` in the same encoding."""
        return self.head + (base64.b64encode(text.encode()).decode() if self.is_base64 else quote(text))


def unwrapped(value: str, media_type: str | None) -> tuple[str, Wrapping] | None:
    """Return the text in a `data:` URI or in base64; None for any other value.

    Args:
        media_type: of plain base64, if the request states it; None: the content decides.
    """
    uri = _DATA_URI.match(value)
    if uri is None:
        head, is_base64, kind = "", True, media_type or ""
    else:
        head, is_base64, kind = uri.group(), uri.group(3) is not None, (uri.group(1) or "text/plain").lower()
        if ";charset=" in uri.group(2).lower() and not _CHARSET.search(uri.group(2)):
            return None
    if kind and not _TEXT_TYPE.fullmatch(kind):
        return None
    content = value[len(head) :]
    try:
        data = base64.b64decode(_BLANKS.sub("", content), validate=True) if is_base64 else unquote_to_bytes(content)
        text = data.decode()
    except (binascii.Error, ValueError):
        return None
    if not text or _NOT_TEXT.search(text):
        return None
    return text, Wrapping(head, is_base64, kind in _PROSE_TYPES)
