"""Streams XML as events through expat, without a tree, external resources or entities.

A document type declaration is refused, because entities need one (billion laughs, external files). OPC forbids it
(ECMA-376-2, 8.1.4), and programs write OpenDocument files without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from xml.parsers import expat

from .extracted import Limits, Reason, Refused


@dataclass(frozen=True, slots=True)
class Start:
    """Start tag. Names are local: without the namespace."""

    name: str
    attributes: dict[str, str]


@dataclass(frozen=True, slots=True)
class End:
    """End tag."""

    name: str


def events(chunks: Iterable[bytes], limits: Limits) -> Iterator[Start | End | str]:
    """Yield start tags, end tags and character data in document order.

    Attributes of the namespace of relationships keep the prefix `r:`, because `id` also exists without a namespace.

    Raises:
        Refused: not well-formed, with a document type declaration, or nested above the limit.
    """
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    found: list[Start | End | str] = []
    depth = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > limits.depth:
            raise Refused(Reason.NESTING, f"expected at most {limits.depth} nested elements")
        found.append(Start(_local(name), {_attribute(key): value for key, value in attributes.items()}))

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        found.append(End(_local(name)))

    def declaration(*_: object) -> None:
        raise Refused(Reason.ENTITIES, "the XML has a document type declaration, which can declare entities")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = found.append
    parser.StartDoctypeDeclHandler = declaration
    parser.EntityDeclHandler = declaration
    try:
        for chunk in chunks:
            parser.Parse(chunk, False)
            yield from found
            found.clear()
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise Refused(Reason.MALFORMED, f"the XML is not well-formed in line {error.lineno}") from error
    yield from found


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


def _attribute(name: str) -> str:
    namespace, _, local = name.rpartition(" ")
    return f"r:{local}" if namespace.endswith("/relationships") else local
