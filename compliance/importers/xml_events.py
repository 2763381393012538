"""Streams the elements of an XML file from an untrusted source, in bounded memory.

A document type declaration is rejected, so that no entity can be defined or expanded and no external file is read.
Depth, number of elements and length of texts are limited."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, NoReturn
from xml.parsers import expat

from sovctl.support.errors import InputError

MAX_DEPTH = 100
MAX_ELEMENTS = 5_000_000
MAX_TEXT = 100_000  # characters of one element
_CHUNK_BYTES = 1 << 20


class XmlName(NamedTuple):
    """Namespace and local name of an element."""

    namespace: str
    name: str


Start = Callable[[tuple[XmlName, ...], Mapping[str, str]], None]
End = Callable[[tuple[XmlName, ...], str], None]


def stream(data: bytes, *, start: Start, end: End) -> None:
    """Call `start` and `end` for every element, with its path from the root.

    Args:
        start: receives path and attributes by local name.
        end: receives path and the text directly in the element, without surrounding spaces.

    Raises:
        InputError: not well formed, cut off, with a document type declaration, or beyond a limit.
    """
    path: list[XmlName] = []
    texts: list[list[str]] = []
    count = 0

    def on_start(name: str, attributes: Mapping[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MAX_ELEMENTS or len(path) >= MAX_DEPTH:
            raise InputError(f"expected at most {MAX_DEPTH} levels and {MAX_ELEMENTS} elements, got more")
        path.append(_name(name))
        texts.append([])
        start(tuple(path), {_name(key).name: value for key, value in attributes.items()})

    def on_end(_name_of_end: str) -> None:
        end(tuple(path), "".join(texts.pop()).strip())
        path.pop()

    def on_text(text: str) -> None:
        if texts:
            texts[-1].append(text)
            if sum(map(len, texts[-1])) > MAX_TEXT:
                texts[-1][:] = ["".join(texts[-1])[:MAX_TEXT]]

    def on_doctype(*_declaration: object) -> NoReturn:
        raise InputError(
            "the file has a document type declaration, which can define entities",
            hint="export the results without a DTD",
        )

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = on_start
    parser.EndElementHandler = on_end
    parser.CharacterDataHandler = on_text
    parser.StartDoctypeDeclHandler = on_doctype
    parser.EntityDeclHandler = on_doctype
    parser.ExternalEntityRefHandler = on_doctype
    try:
        for begin in range(0, len(data), _CHUNK_BYTES):
            parser.Parse(data[begin : begin + _CHUNK_BYTES], False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        message = f"not well-formed XML, line {error.lineno}: {reason}"
        raise InputError(message, hint="the file may be cut off; export the results again") from None


def _name(text: str) -> XmlName:
    namespace, _, name = text.rpartition(" ")
    return XmlName(namespace, name)
