"""Reads entries of an LDIF export (RFC 2849). Change records and values from URLs are refused. Pure.

for entry in entries(text):
    entry.dn, entry.values("member")
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_LINE = re.compile(r"([A-Za-z0-9][A-Za-z0-9.-]*)((?:;[A-Za-z0-9=-]+)*)(::|:<|:)[ ]*(.*)")
_COMMA = re.compile(r" ?(?<!\\)([,+=]) ?")


class LdifError(ValueError):
    """The text is not LDIF content records.

    Args:
        line: number of the line, from 1.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass(slots=True)
class Entry:
    """One entry. Names of attributes are in lower case, without options such as `;lang-de`."""

    dn: str
    line: int
    attributes: dict[str, list[str]] = field(default_factory=dict)

    def values(self, name: str) -> list[str]:
        """Return the values of an attribute, in their order."""
        return self.attributes.get(name.lower(), [])


def normalized_dn(dn: str) -> str:
    """Return a DN for comparison: lower case, without spaces around separators (RFC 4518, simplified)."""
    return _COMMA.sub(r"\1", " ".join(dn.split())).lower()


def entries(text: str) -> Iterator[Entry]:
    """Yield the entries of a file.

    Raises:
        LdifError: a line is invalid, or a feature is not supported.
    """
    entry: Entry | None = None
    for number, line in _unfolded(text):
        if not line:
            if entry is not None:
                yield entry
            entry = None
            continue
        name, options, value = _attribute(line, number)
        if entry is None:
            if name == "version" and value == "1":
                continue
            if name != "dn":
                raise LdifError("expected an entry that begins with `dn:`", number)
            entry = Entry(value, number)
        elif name in ("changetype", "control"):
            raise LdifError("change records are not supported; export entries", number)
        elif "range=" in options:  # Active Directory returns long lists in ranges (MS-ADTS 3.1.1.3.1.3.3)
            raise LdifError("the values of an attribute are only a range; export all of them", number)
        else:
            entry.attributes.setdefault(name, []).append(value)
    if entry is not None:
        yield entry


def _unfolded(text: str) -> Iterator[tuple[int, str]]:
    """Yield logical lines with the number of their first line; comments are omitted."""
    logical: str | None = None
    first = 0
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if line.startswith(" "):
            if logical is None:
                raise LdifError("a continuation without a line before it", number)
            logical += line[1:]
            continue
        if logical is not None and not logical.startswith("#"):
            yield first, logical
        logical, first = line, number
    if logical is not None and not logical.startswith("#"):
        yield first, logical


def _attribute(line: str, number: int) -> tuple[str, str, str]:
    found = _LINE.fullmatch(line)
    if found is None:
        raise LdifError("expected `attribute: value`", number)
    name, options, separator, value = found.groups()
    if separator == ":<":
        raise LdifError("values from URLs are not supported", number)
    if separator == "::":
        try:
            value = base64.b64decode(value.strip(), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            value = ""  # a binary value, such as a photo or a SID, is neither a name nor a member
    return name.lower(), options.lower(), value
