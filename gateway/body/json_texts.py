"""Strings of a JSON body with their locations, and the keys and numbers that may be identifiers.

Unknown fields are included. Excluded are the model's name, which is a key of the settings and is not sent, and the
common values of roles and types. Strings that contain JSON (tool arguments, tool results) are read decoded, so that
`\\u0040` hides nothing, and encoded again only if something in them changed, or if a parser drops a part of them. The
same holds for text files in `data:` URIs or base64. Each text has the labels that the keys above it give it.

    found = json_texts_of(body, max_depth=64)
    for each in found.texts: ...           # each.path, each.text
    found.texts[0].put("IBAN_7K2...")      # replaces it in the body
    found.close()                          # encodes changed documents into their strings
    found.undo()                           # restores the body
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from . import exact_json
from .embedded_files import Wrapping, unwrapped
from .exact_json import NumberText, number_text
from .key_labels import LONGEST_KEY, NO_LABEL, TRANSPARENT, IsCue, Label, label_of
from .keyed_objects import KeyedObject, objects_with

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
_NAMES_OF_VALUES = ("name", "key", "label", "field")  # of an object with a `value`
# Numbers that prose does not show: in groups, or with an exponent.
_HIDDEN_NUMBER = re.compile(r':\s*(?:\[\s*"?[0-9]|-?[0-9.]{1,512}[eE])')
# A key that may be an identifier or a name: it has another character than names of fields in lower case.
_KEY_IN_TEXT = re.compile(r'"[a-z_]*+[^a-z_"\\][^"\\]*+"\s*+:')
_FIRST_OF_DOCUMENTS = frozenset("{[ \t\r\n")
_MOST_IN_ROW = 64  # items of a list that are read as one value


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
    labels: tuple[str, ...] = ()
    """Words that explain it, from the keys above it, in different forms: see `key_labels`."""
    is_changed: bool = False

    @property
    def escapes(self) -> int:
        """Additional levels of JSON string escapes compared with a field of an answer; tool arguments count as JSON
        there too."""
        return self.document.escapes if self.document is not None else 0

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
    path: Path
    text: str
    decoded: Any
    parent: Document | None
    is_changed: bool = False
    is_partial: bool = False
    """`text` has parts that `decoded` lacks, such as a key that occurs again, so `text` must not be sent."""

    @property
    def escapes(self) -> int:
        """Additional levels of escapes of its strings: see `JsonText`."""
        if self.parent is None:
            return int(self.place != _JSON_FIELD)
        return self.parent.escapes + 1


class JsonTexts:
    """All texts, numbers and keys of one body, in document order."""

    __slots__ = ("documents", "keys", "labelled_keys", "names", "numbers", "objects", "renamed", "rows", "texts")

    def __init__(self) -> None:
        self.texts: list[JsonText] = []
        self.numbers: list[JsonText] = []
        """Numbers of seven digits or more, and shorter ones with a label."""
        self.rows: list[list[JsonText]] = []
        """Items of each list with a label: they may be the groups of one number."""
        self.keys: list[str] = []
        """Keys that contain other characters than field names have."""
        self.names: dict[str, None] = {}
        """Other keys, without those that every request has."""
        self.labelled_keys: dict[tuple[str, tuple[str, ...]], None] = {}
        """Keys of objects with a label, with its readings: they may be values that the label explains."""
        self.objects: list[tuple[Path, dict[str, Any]]] = []
        """Objects that are items of a list: messages, content parts, tool calls."""
        self.documents: list[Document] = []
        self.renamed: dict[Document | None, list[tuple[KeyedObject, Mapping[str, str]]]] = {}
        """Objects whose keys `close` replaces, with the new keys, by the decoded string that contains them."""

    def objects_with(self, keys: Collection[str], body: Mapping[str, Any]) -> list[KeyedObject]:
        """Return the objects that have one of `keys`.

        Args:
            body: the body of these texts.
        """
        return objects_with(keys, body, self.documents, JSON)

    def rename(self, keyed: KeyedObject, names: Mapping[str, str]) -> None:
        """Replace keys of an object in `close`; until then, values are put under the old keys."""
        self.renamed.setdefault(keyed.document, []).append((keyed, names))
        if keyed.document is not None:
            keyed.document.is_changed = True

    def close(self) -> None:
        """Replace keys, and encode changed documents into their strings, inner ones first."""
        for document in reversed(self.documents):
            if self.renamed:
                self._rename_in(document)
            if document.is_changed or document.is_partial:
                document.holder[document.place] = exact_json.dumps(document.decoded).decode()
                document.is_changed = True
                if document.parent is not None:
                    document.parent.is_changed = True
        if self.renamed:
            self._rename_in(None)

    def _rename_in(self, document: Document | None) -> None:
        for keyed, names in self.renamed.get(document, ()):
            keyed.rename(names)

    def undo(self) -> None:
        """Restore the body."""
        for objects in self.renamed.values():
            for keyed, _ in objects:
                keyed.undo()
        self.renamed.clear()
        for leaf in (*self.texts, *self.numbers):
            if leaf.is_changed:
                leaf.holder[leaf.place] = leaf.value
                leaf.is_changed = False
        for document in self.documents:
            if document.is_changed:
                document.holder[document.place] = document.text
                document.is_changed = False


def _uncounted() -> None:
    pass


def json_texts_of(
    body: dict[str, Any],
    *,
    max_depth: int,
    is_cue: IsCue | None = None,
    before_label: Callable[[], None] = _uncounted,
) -> JsonTexts:
    """Return the texts of `body`.

    Args:
        is_cue: whether words before a value can explain it; None for texts without labels.
        before_label: called before the label of a key is computed, once for each key and label above it.

    Raises:
        TooDeep: nested deeper than `max_depth`, decoded strings included.
    """
    leaves = JsonTexts()
    _Gathering(leaves, is_cue, before_label).gather(body, (), None, max_depth, NO_LABEL)
    return leaves


class _Gathering:
    """One pass over a body."""

    __slots__ = ("_before_label", "_is_cue", "_labels", "_leaves")

    def __init__(self, leaves: JsonTexts, is_cue: IsCue | None, before_label: Callable[[], None]) -> None:
        self._before_label = before_label
        self._leaves = leaves
        self._is_cue = is_cue
        self._labels: dict[tuple[Label, str], Label] = {}

    def gather(self, holder: Any, path: Path, document: Document | None, depth_left: int, label: Label) -> int:
        """Add the leaves below `holder`; return the number of its keys, those in decoded strings not counted."""
        if not depth_left:
            raise TooDeep
        leaves, is_cue = self._leaves, self._is_cue
        is_object = type(holder) is dict
        count = len(holder) if is_object else 0
        first_text, first_number = len(leaves.texts), len(leaves.numbers)
        items: Iterable[tuple[Any, Any]] = holder.items() if is_object else enumerate(holder)
        named = label
        for place, item in items:
            if is_object:
                if place in TRANSPARENT:
                    named = self._named(holder, label) if place == "value" and is_cue is not None else label
                else:
                    self._key(place, label)
                    named = self._label(label, place[:LONGEST_KEY]) if is_cue is not None else label
            kind = type(item)
            if kind is str:
                is_ours = (place in _WORD_FIELDS and item in ORDINARY) or (place == "model" and not path)
                if item and not is_ours:
                    self._text(holder, place, (*path, place), item, document, depth_left - 1, named)
            elif kind is dict or kind is list:
                below = (*path, place)
                if kind is dict and not is_object:
                    leaves.objects.append((below, item))
                count += self.gather(item, below, document, depth_left - 1, named)
            elif (kind is int or kind is float or kind is NumberText) and (
                named.readings or kind is NumberText or not -_MIN_NUMBER < item < _MIN_NUMBER
            ):
                text = str(item) if kind is int else number_text(item)
                number = JsonText(holder, place, (*path, place), text, item, document, None, named.readings)
                leaves.numbers.append(number)
        if label.readings and not is_object and 1 < len(holder) <= _MOST_IN_ROW:
            added = (*leaves.texts[first_text:], *leaves.numbers[first_number:])
            row = [leaf for leaf in added if leaf.holder is holder]
            leaves.rows.append(sorted(row, key=lambda leaf: leaf.place))
        return count

    def _key(self, key: str, label: Label) -> None:
        leaves = self._leaves
        if key not in _PLAIN_KEYS and _ODD_KEY.search(key):
            leaves.keys.append(key)
        else:
            leaves.names[key] = None
        if label.readings:
            leaves.labelled_keys[key, label.readings] = None

    def _text(
        self, holder: Any, place: Any, path: Path, text: str, document: Document | None, depth_left: int, label: Label
    ) -> None:
        leaves = self._leaves
        if place == _JSON_FIELD or _may_be_document(text):
            try:
                decoded = exact_json.loads(text)
            except (orjson.JSONDecodeError, RecursionError):
                decoded = None
            if isinstance(decoded, dict | list):
                inner = Document(holder, place, path, text, decoded, document)
                leaves.documents.append(inner)
                count = self.gather(decoded, (*path, JSON), inner, depth_left, label)
                inner.is_partial = exact_json.has_duplicates(text, count)
                return
        if (place in _FILE_FIELDS or text.startswith("data:")) and (file := _file(holder, place, text)) is not None:
            leaves.texts.append(JsonText(holder, place, path, file[0], text, document, file[1], label.readings))
            return
        leaves.texts.append(JsonText(holder, place, path, text, text, document, None, label.readings))

    def _label(self, above: Label, key: str) -> Label:
        """Return `label_of`. Calls `before_label` also if the result is cached, so that a request has one count."""
        found = self._labels.get((above, key))
        if found is None:
            assert self._is_cue is not None
            self._before_label()
            found = self._labels[above, key] = label_of(above, key, self._is_cue)
        return found

    def _named(self, holder: Mapping[str, Any], label: Label) -> Label:
        """Return the label of the value in an object such as `{"name": "PIN", "value": "4821"}`."""
        for key in _NAMES_OF_VALUES:
            name = holder.get(key)
            if isinstance(name, str) and 0 < len(name) <= LONGEST_KEY:
                return self._label(label, name)
        return label


def _may_be_document(text: str) -> bool:
    """Return whether a string is to be read decoded if it contains JSON: others are read the same as prose."""
    if text[:1] not in _FIRST_OF_DOCUMENTS or text.lstrip()[:1] not in ("{", "["):
        return False
    return "\\" in text or _HIDDEN_NUMBER.search(text) is not None or _KEY_IN_TEXT.search(text) is not None


def _file(holder: Any, place: Any, text: str) -> tuple[str, Wrapping] | None:
    """Return the text of a file and its encoding; None if the value is not a file."""
    if place == "data" and not text.startswith("data:"):
        # Anthropic's source of a document; other fields called `data` are not files.
        media_type = holder.get("media_type")
        return unwrapped(text, media_type) if holder.get("type") == "base64" and isinstance(media_type, str) else None
    return unwrapped(text, None)
