"""Strings of a JSON body with their locations, and the keys and numbers that may be identifiers.

Unknown fields are included. Excluded are the model's name, which is a key of the settings and is not sent, and the
common values of roles and types. Strings that contain JSON (tool arguments, tool results) are read decoded, so that
`\\u0040` hides nothing, and encoded again only if something in them changed. The same holds for text files in `data:`
URIs or base64.

    found = json_texts_of(body, max_depth=64)
    for each in found.texts: ...           # each.path, each.text
    found.texts[0].put("IBAN_7K2...")      # replaces it in the body
    found.close()                          # encodes changed documents into their strings
    found.undo()                           # restores the body
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from .embedded_files import Wrapping, unwrapped

Path = tuple[str | int, ...]
"""Location of a value: keys and indices from the top; `JSON` for a decoded string."""

JSON = "$json"
_JSON_FIELD = "arguments"  # of a tool call: the text of a JSON document in every API
_FILE_FIELDS = frozenset({"file_data", "data"})
_WORD_FIELDS = frozenset({"role", "type"})
_MIN_NUMBER = 10**6  # seven digits, as many as the shortest phone number
_ODD_KEY = re.compile(r"[^A-Za-z_$.-]")  # names of fields have no other characters; other keys may be identifiers
# Most common keys: the lookup takes a tenth of the regular expression's time.
_PLAIN_KEYS = frozenset({"content", "max_tokens", "messages", "model", "name", "role", "stream", "text", "type"})


# Values of fields that every request has; not identifiers, so not scanned.
ORDINARY = frozenset(
    {"user", "assistant", "system", "developer", "tool", "text", "function", "auto", "none", "object", "string"}
)


class TooDeep(ValueError):
    """The body is nested deeper than allowed."""


@dataclass(slots=True, eq=False)
class JsonText:
    """A string or a number in a body."""

    holder: Any
    """The object or list that contains it."""
    place: str | int
    path: Path
    text: str
    """As received; a number as it is written; of a file, its text."""
    value: Any
    document: Document | None
    """The decoded string that contains it."""
    wrapping: Wrapping | None = None
    """Encoding of `text` in `value`, if it is a text file."""
    is_changed: bool = False

    @property
    def escapes(self) -> int:
        """Additional levels of JSON string escapes compared with a field of an answer; tool arguments count as JSON
        there too."""
        count, document = 0, self.document
        while document is not None:
            count += document.parent is not None or document.place != _JSON_FIELD
            document = document.parent
        return count

    def put(self, value: str) -> None:
        """Replace the value in the body by `value`."""
        self.holder[self.place] = value if self.wrapping is None else self.wrapping.wrap(value)
        self.is_changed = True
        if self.document is not None:
            self.document.is_changed = True


@dataclass(slots=True, eq=False)
class Document:
    """A string that contains JSON, decoded."""

    holder: Any
    place: str | int
    text: str
    decoded: Any
    parent: Document | None
    is_changed: bool = False


class JsonTexts:
    """All texts, numbers and keys of one body, in document order."""

    __slots__ = ("documents", "keys", "numbers", "objects", "texts")

    def __init__(self) -> None:
        self.texts: list[JsonText] = []
        self.numbers: list[JsonText] = []
        """Numbers of seven digits or more."""
        self.keys: list[str] = []
        """Keys that contain other characters than field names have."""
        self.objects: list[tuple[Path, dict[str, Any]]] = []
        """Objects that are items of a list: messages, content parts, tool calls."""
        self.documents: list[Document] = []

    def close(self) -> None:
        """Encode changed documents into their strings, inner ones first."""
        for document in reversed(self.documents):
            if document.is_changed:
                document.holder[document.place] = orjson.dumps(document.decoded).decode()
                if document.parent is not None:
                    document.parent.is_changed = True

    def undo(self) -> None:
        """Restore the body."""
        for leaf in (*self.texts, *self.numbers):
            if leaf.is_changed:
                leaf.holder[leaf.place] = leaf.value
                leaf.is_changed = False
        for document in self.documents:
            if document.is_changed:
                document.holder[document.place] = document.text
                document.is_changed = False


def json_texts_of(body: dict[str, Any], *, max_depth: int) -> JsonTexts:
    """Return the texts of `body`.

    Raises:
        TooDeep: nested deeper than `max_depth`, decoded strings included.
    """
    leaves = JsonTexts()
    _gather(body, (), leaves, None, max_depth)
    return leaves


def _gather(holder: Any, path: Path, leaves: JsonTexts, document: Document | None, depth_left: int) -> None:
    if not depth_left:
        raise TooDeep
    is_object = type(holder) is dict
    items: Iterable[tuple[Any, Any]] = holder.items() if is_object else enumerate(holder)
    for place, item in items:
        if is_object and place not in _PLAIN_KEYS and _ODD_KEY.search(place):
            leaves.keys.append(place)
        kind = type(item)
        if kind is str:
            is_ours = (place in _WORD_FIELDS and item in ORDINARY) or (place == "model" and not path)
            if item and not is_ours:
                _text(holder, place, (*path, place), item, leaves, document, depth_left - 1)
        elif kind is dict or kind is list:
            below = (*path, place)
            if kind is dict and not is_object:
                leaves.objects.append((below, item))
            _gather(item, below, leaves, document, depth_left - 1)
        elif (kind is int or kind is float) and not -_MIN_NUMBER < item < _MIN_NUMBER:
            leaves.numbers.append(JsonText(holder, place, (*path, place), str(item), item, document))


def _text(
    holder: Any, place: Any, path: Path, text: str, leaves: JsonTexts, document: Document | None, depth_left: int
) -> None:
    if place == _JSON_FIELD or ("\\" in text and text.lstrip()[:1] in ("{", "[")):
        try:
            decoded = orjson.loads(text)
        except orjson.JSONDecodeError:
            decoded = None
        if isinstance(decoded, dict | list):
            inner = Document(holder, place, text, decoded, document)
            leaves.documents.append(inner)
            _gather(decoded, (*path, JSON), leaves, inner, depth_left)
            return
    if (place in _FILE_FIELDS or text.startswith("data:")) and (file := _file(holder, place, text)) is not None:
        leaves.texts.append(JsonText(holder, place, path, file[0], text, document, file[1]))
        return
    leaves.texts.append(JsonText(holder, place, path, text, text, document))


def _file(holder: Any, place: Any, text: str) -> tuple[str, Wrapping] | None:
    """Return the text of a file and its encoding; None if the value is not a file."""
    if place == "data" and not text.startswith("data:"):
        # Anthropic's source of a document; other fields called `data` are not files.
        media_type = holder.get("media_type")
        return unwrapped(text, media_type) if holder.get("type") == "base64" and isinstance(media_type, str) else None
    return unwrapped(text, None)
