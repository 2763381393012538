"""All objects of a package of OSCAL documents with their places, UUIDs and controls. Pure, standard library only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any


class Node:
    """One object of a document.

    Args:
        value: the object.
        file: name of the document.
        path: linked path: None for the root, else the path of the parent and the key or number.
    """

    __slots__ = ("file", "key", "kind", "path", "value")

    def __init__(self, value: Mapping[str, Any], file: str, path: Any, kind: str, key: str) -> None:
        self.value, self.file, self.path = value, file, path
        self.kind = kind
        """Name of the array that contains the object, else its own key."""
        self.key = key
        """Its own key; empty in an array."""

    def __str__(self) -> str:
        return place(self)


class PackageIndex:
    """An index over a package."""

    def __init__(self, documents: Mapping[str, Mapping[str, Any]]) -> None:
        self.documents = documents
        self.nodes = [node for file, value in documents.items() for node in _nodes(file, value)]
        self.by_uuid: dict[str, list[Node]] = {}
        for node in self.nodes:
            if "uuid" in node.value:
                self.by_uuid.setdefault(str(node.value["uuid"]), []).append(node)

    def of_kind(self, kind: str, *, root: str) -> list[Node]:
        """Return the objects in arrays with a name, in the documents of a model such as `assessment-results`."""
        return [node for node in self.nodes if node.kind == kind and not node.key and root in self.documents[node.file]]

    @cached_property
    def controls(self) -> dict[str, Node]:
        """Controls of the catalog by id."""
        return {str(node.value.get("id")): node for node in self.of_kind("controls", root="catalog")}

    @cached_property
    def parts(self) -> dict[str, Node]:
        """Statements and objectives of the catalog by id."""
        return {str(node.value.get("id")): node for node in self.of_kind("parts", root="catalog")}

    @cached_property
    def selected(self) -> frozenset[str]:
        """Ids of the controls that the profile selects."""
        selections = self.of_kind("include-controls", root="profile")
        return frozenset(str(each) for node in selections for each in node.value.get("with-ids", ()))

    def roles(self, file: str) -> frozenset[str]:
        """Return the ids of the roles of a document."""
        (root,) = (value for name, value in self.documents[file].items() if name != "$schema")
        return frozenset(str(each["id"]) for each in root["metadata"].get("roles", ()))


def place(node: Node) -> str:
    """Return the document and path of an object, such as `assessment-results.json: results[0].findings[2]`."""
    parts: list[str] = []
    path = node.path
    while path is not None:
        path, key = path
        parts.append(f"[{key}]" if isinstance(key, int) else f".{key}")
    return f"{node.file}: {''.join(reversed(parts)).lstrip('.') or 'document'}"


def property_of(value: Mapping[str, Any], name: str) -> str | None:
    """Return the value of a property of an object; None if it is absent."""
    return next((str(each["value"]) for each in value.get("props", ()) if each["name"] == name), None)


def _nodes(file: str, document: Mapping[str, Any]) -> Iterator[Node]:
    waiting: list[tuple[Any, Any, str, str]] = [(document, None, "", "")]
    while waiting:
        value, path, kind, key = waiting.pop()
        if isinstance(value, dict):
            yield Node(value, file, path, kind, key)
            waiting += [
                (each, (path, name), name, name) for name, each in value.items() if isinstance(each, dict | list)
            ]
        else:
            waiting += [
                (each, (path, number), kind, "") for number, each in enumerate(value) if isinstance(each, dict | list)
            ]
