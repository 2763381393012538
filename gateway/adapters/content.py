"""Content parts that several APIs have: text, and files in `data:` URLs. Pure.

data_url("data:image/png;base64,iVBORw0=")      # ("image/png", "iVBORw0=")
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from ..body import exact_json
from .translation import Body, Inexpressible

_DATA_URL = re.compile(r"data:([a-zA-Z0-9.+-]{1,60}/[a-zA-Z0-9.+-]{1,100});base64,", re.ASCII)


def data_url(url: str) -> tuple[str, str] | None:
    """Return media type and base64 content of a `data:` URL; None for another URL."""
    found = _DATA_URL.match(url)
    return (found[1].lower(), url[found.end() :]) if found is not None else None


def parts_of(content: Any, where: str) -> list[Body]:
    """Return the content parts of a message; a string is one part of text, and null none.

    Raises:
        Inexpressible: the content is neither a string nor a list of objects.
    """
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise Inexpressible(where)
    return content


def text_of(part: Body, where: str, *, name: str = "text") -> str:
    """Return the text of a part.

    Raises:
        Inexpressible: the text is absent or another value.
    """
    text = part.get(name)
    if not isinstance(text, str):
        raise Inexpressible(f"{where}.{name}")
    return text


def string_in(value: Any, name: str, where: str) -> str:
    """Return the string in a field of an object.

    Raises:
        Inexpressible: the string is absent or another value.
    """
    if not isinstance(value, dict):
        raise Inexpressible(where)
    return text_of(value, where, name=name)


def json_text(value: Any, where: str) -> str:
    """Return a value of a request as JSON, with exact numbers.

    Raises:
        Inexpressible: it is nested too deeply.
    """
    try:
        return exact_json.dumps(value).decode()
    except orjson.JSONEncodeError:
        raise Inexpressible(where) from None


def objects_in(value: Any, where: str) -> list[Body]:
    """Return a list of objects; an absent one is empty.

    Raises:
        Inexpressible: it is another value.
    """
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise Inexpressible(where)
    return value
