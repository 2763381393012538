"""The index of listed people and companies: keyed hashes in sorted arrays, mapped into memory; it contains no names.

A file is one line of JSON, zeros up to a page, then arrays of integers, each sorted so that a look-up is
a bisection. Words have numbers; relations between them are pairs of numbers. Without the key, the word of a hash cannot
be determined; with the key, only by guessing words. The file does reveal how many people share a name.

    keys, ids      hash of a word's key -> the word's number; a hash may stand several times
    flags          by number: what the word is in the list (`Role`)
    pairs          given name and surname of one person; surname and given name of one person's initial
    companies      hash over the numbers of a company's words
    sieve          a Bloom filter over the pairs: most pairs that are looked up are absent, and it answers immediately
    value_sieve    likewise of everything that supports a name
    supports       hash of an account, birth date, ... mixed with the number of a word of the same person
    values         hash of an account or customer number

Opening verifies the key, the sizes, the digest of the arrays and a MAC over the header, so a damaged or truncated file,
or a file of another key, is rejected. Readers that have the old file open keep it; a new file replaces it by rename.

    index = Index.open(path, key)
    ids = index.ids("wkovalsk")
"""

from __future__ import annotations

import hashlib
import hmac
import json
import mmap
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntFlag
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import InputError

VERSION = 4
"""Of the form, and of how words are spelled in keys: an index of other keys would find less than it lists."""
_PAGE = 4096
_LONGEST_HEADER = 1 << 16
_ARRAYS: dict[str, Literal["Q", "I", "B"]] = {
    "keys": "Q",
    "pairs": "Q",
    "companies": "Q",
    "supports": "Q",
    "values": "Q",
    "ids": "I",
    "flags": "B",
    "sieve": "B",
    "value_sieve": "B",
}
"""Name -> `array` type code; the wide ones first, so that each begins where its type may."""
_MASK = (1 << 64) - 1
_ODD = 0x9E3779B97F4A7C15  # spreads numbers over 64 bits before they are mixed into a hash


class Role(IntFlag):
    """Role of a word in the list."""

    GIVEN = 1
    SURNAME = 2
    FREQUENT = 4  # a surname of many people in this list
    COMPANY = 8  # the word by which a company is noticed


@dataclass(frozen=True, slots=True)
class Contents:
    """Contents of an index."""

    keys: Mapping[str, Sequence[int]]
    """Key -> numbers of the words that have it."""
    roles: Sequence[Role]
    """By number."""
    pairs: Iterable[int]
    companies: Iterable[Sequence[int]]
    supports: Iterable[int]
    """Hashes made by `mixed`."""
    supporting: Iterable[int]
    """Hashes of the values in `supports`."""
    values: Iterable[int]
    """Hashes of numbers that are to be found themselves, as `Hasher.value` makes them."""
    counts: Mapping[str, int]
    """For the header: how many people, companies, words."""


def pair(first: int, second: int) -> int:
    """Two numbers as one."""
    return first << 32 | second


def initial_of(letter: str) -> int:
    """Return the number of an initial's class of letters; numbers of words are below 2^31."""
    return 0x80000000 | ord(letter)


class Hasher:
    """Keyed hashes of 64 bits.

    Args:
        key: 32 bytes.
    """

    def __init__(self, key: bytes) -> None:
        self._base = hashlib.blake2b(key=key, digest_size=8, person=b"sovctl edm")

    def __call__(self, text: str) -> int:
        """Return the hash of `text`."""
        each = self._base.copy()
        each.update(text.encode("utf-8", "surrogatepass"))
        return int.from_bytes(each.digest(), "little")

    def value(self, value: str) -> int:
        """Return the hash of a value that supports a name; see `values`."""
        return self(f"x{value}")

    def sequence(self, numbers: Sequence[int]) -> int:
        """Return the hash of a sequence of numbers."""
        return self("#" + ",".join(map(str, numbers)))


def mixed(hashed: int, number: int) -> int:
    """Return the hash of a value combined with the number of a word that it supports."""
    return (hashed ^ (number * _ODD)) & _MASK


def write_index(path: Path, key: bytes, contents: Contents, *, built_at: str) -> dict[str, Any]:
    """Write an index atomically; return its header.

    Args:
        built_at: when, ISO 8601.
    """
    hasher = Hasher(key)
    rows = sorted((hasher(text), number) for text, numbers in contents.keys.items() for number in numbers)
    arrays = {
        "keys": array("Q", (row[0] for row in rows)),
        "ids": array("I", (row[1] for row in rows)),
        "flags": array("B", (int(role) for role in contents.roles)),
        "pairs": _column(contents.pairs),
        "companies": _column(hasher.sequence(numbers) for numbers in contents.companies),
        "supports": _column(contents.supports),
        "values": _column(contents.values),
    }
    arrays["sieve"] = _sieve(arrays["pairs"])
    arrays["value_sieve"] = _sieve(_column(contents.supporting))
    body = bytearray()
    sizes = {}
    for name in _ARRAYS:
        column = arrays[name]
        sizes[name] = len(column)
        body += column.tobytes()
    header: dict[str, Any] = {
        "format": "sovctl-edm",
        "version": VERSION,
        "byte_order": sys.byteorder,
        "built_at": built_at,
        **contents.counts,
        "sizes": sizes,
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    header["mac"] = _mac(key, header)
    line = _line(header)
    write_atomic(path, line.ljust(-(-len(line) // _PAGE) * _PAGE, b"\0") + bytes(body), mode=0o600)
    return header


def _column(numbers: Iterable[int]) -> array[int]:
    """Sorted, each once."""
    return array("Q", (number for number, _ in groupby(sorted(numbers))))


def _sieve(numbers: array[int]) -> array[int]:
    """Return a filter of 16 to 32 bits a number: at most one in sixteen absent numbers passes it."""
    bits = max(6, (16 * len(numbers)).bit_length())
    sieve = array("B", bytes(1 << (bits - 3)))
    for number in numbers:
        place = ((number * _ODD) & _MASK) >> (64 - bits)
        sieve[place >> 3] |= 1 << (place & 7)
    return sieve


def _passes(sieve: memoryview, number: int) -> bool:
    place = ((number * _ODD) & _MASK) >> (62 - len(sieve).bit_length())
    return bool(sieve[place >> 3] >> (place & 7) & 1)


class Index:
    """An index that was opened; see `Index.open`."""

    def __init__(self, header: Mapping[str, Any], arrays: Mapping[str, memoryview], key: bytes) -> None:
        self.header = header
        self.hasher = Hasher(key)
        self.flags = arrays["flags"]
        self._arrays = arrays
        self._sieve = arrays["sieve"]
        self._value_sieve = arrays["value_sieve"]
        self._keys, self._ids = arrays["keys"], arrays["ids"]

    @classmethod
    def open(cls, path: Path, key: bytes) -> Index:
        """Open the index in a file.

        Raises:
            InputError: absent, not an index, of another key or version, or damaged.
        """
        try:
            with path.open("rb") as file:
                line = file.readline(_LONGEST_HEADER)
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "an empty file"
            raise _refused(path, f"expected an index of names, got: {reason}") from error
        header = _header(path, line, key)
        begin = start = -(-len(line) // _PAGE) * _PAGE
        sizes = {name: header["sizes"][name] * array(code).itemsize for name, code in _ARRAYS.items()}
        view = memoryview(mapped)
        is_whole = begin + sum(sizes.values()) == len(mapped) and not any(view[len(line) : begin])
        if not is_whole or hashlib.sha256(view[begin:]).hexdigest() != header["sha256"]:
            raise _refused(path, "expected the content that the header describes, got a damaged file")
        arrays = {}
        for name, code in _ARRAYS.items():
            arrays[name] = view[start : start + sizes[name]].cast(code)
            start += sizes[name]
        return cls(header, arrays, key)

    def ids(self, key: str) -> list[int]:
        """Return the numbers of the words with this key."""
        hashed = self.hasher(key)
        keys = self._keys
        place, found = bisect_left(keys, hashed), []
        while place < len(keys) and keys[place] == hashed:
            found.append(self._ids[place])
            place += 1
        return found

    def has_pair(self, firsts: Iterable[int], seconds: Sequence[int]) -> bool:
        """Return whether any two of these, one of each, are a `pair` of the list; a number may be an `initial_of`."""
        sieve, shift = self._sieve, 62 - len(self._sieve).bit_length()
        for first in firsts:
            for second in seconds:
                both = first << 32 | second
                place = ((both * _ODD) & _MASK) >> shift
                if sieve[place >> 3] >> (place & 7) & 1 and self._has("pairs", both):
                    return True
        return False

    def has_company(self, numbers: Sequence[int]) -> bool:
        """Return whether these words, in this order, are a company."""
        return self._has("companies", self.hasher.sequence(numbers))

    def supporting(self, value: str) -> int | None:
        """Return the hash of a value for `supports`; None for most values that are not in the list."""
        hashed = self.hasher.value(value)
        return hashed if _passes(self._value_sieve, hashed) else None

    def supports(self, hashed: int, number: int) -> bool:
        """Return whether the list has a value with this hash for a person with the word of this number."""
        return self._has("supports", mixed(hashed, number))

    def has_value(self, hashed: int) -> bool:
        """Return whether the list has a number with this hash."""
        return self._has("values", hashed)

    @property
    def has_values(self) -> bool:
        """Whether the list has account or customer numbers."""
        return len(self._arrays["values"]) > 0

    @property
    def has_addresses(self) -> bool:
        """Whether addresses support names."""
        return bool(self.header.get("addresses"))

    @property
    def has_arabic_names(self) -> bool:
        """Whether the list has names whose vowels vary."""
        return bool(self.header.get("arabic_names"))

    def _has(self, name: str, number: int) -> bool:
        column = self._arrays[name]
        place = bisect_left(column, number)
        return place < len(column) and column[place] == number


def _header(path: Path, line: bytes, key: bytes) -> dict[str, Any]:
    try:
        header = json.loads(line)
    except ValueError:
        header = None
    if not isinstance(header, dict) or header.get("format") != "sovctl-edm":
        raise _refused(path, "expected an index of names, got another file")
    if header.get("version") != VERSION:
        raise _refused(path, f"expected version {VERSION} of the index, got {header.get('version')}")
    if header.get("byte_order") != sys.byteorder:
        raise _refused(path, f"expected an index from a {sys.byteorder}-endian machine, got another")
    mac = header.pop("mac", "")
    if not isinstance(mac, str) or not hmac.compare_digest(mac, _mac(key, header)):
        raise _refused(path, "expected an index that was built with this key, got another key or a damaged header")
    if line != _line({**header, "mac": mac}):  # JSON has many equal forms; only the canonical one is valid
        raise _refused(path, "expected a header as it is written, got a damaged one")
    return header


def _line(header: Mapping[str, Any]) -> bytes:
    return json.dumps(header, sort_keys=True).encode() + b"\n"


def _mac(key: bytes, header: Mapping[str, Any]) -> str:
    text = json.dumps(header, sort_keys=True).encode()
    return hashlib.blake2b(text, key=key, digest_size=16, person=b"sovctl edm head").hexdigest()


def _refused(path: Path, message: str) -> InputError:
    return InputError(message, where=str(path), hint="build it again: sovctl gateway edm build")
