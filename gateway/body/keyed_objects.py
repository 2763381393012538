"""Objects of a body that have some given keys, and the replacement of these keys.

(found,) = objects_with({"Anna_Kowalska"}, body, leaves.documents)
found.rename({"Anna_Kowalska": "PERSON_7K2M..."})       # in the same place of the object
found.undo()
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .json_texts import Document, Path


@dataclass(slots=True, eq=False)
class KeyedObject:
    """An object that has at least one of the given keys."""

    holder: dict[str, Any]
    path: Path
    document: Document | None
    """The decoded string that contains it."""
    keys: tuple[str, ...]
    """Those of the given keys that it has, in order."""
    _before: list[tuple[str, Any]] = field(default_factory=list)

    def rename(self, names: Mapping[str, str]) -> None:
        """Replace keys; the order of the object remains.

        Args:
            names: new keys by the old ones; different from each other and from the other keys.
        """
        self._before = list(self.holder.items())
        self.holder.clear()
        self.holder.update((names.get(key, key), value) for key, value in self._before)

    def undo(self) -> None:
        """Restore the keys."""
        if self._before:
            self.holder.clear()
            self.holder.update(self._before)
            self._before = []


def objects_with(
    keys: Collection[str], body: Mapping[str, Any], documents: Iterable[Document], step: str
) -> list[KeyedObject]:
    """Return the objects of a body that have one of `keys`.

    Args:
        documents: decoded strings of the body.
        step: of the path from a string to its decoded content.
    """
    found: list[KeyedObject] = []
    pending: list[tuple[Any, Path, Document | None]] = [(body, (), None)]
    pending += [(each.decoded, (*each.path, step), each) for each in documents]
    for holder, path, document in pending:  # it grows
        if type(holder) is dict:
            if here := tuple([key for key in holder if key in keys]):
                found.append(KeyedObject(holder, path, document, here))
            pending += [(item, (*path, key), document) for key, item in holder.items() if type(item) in (dict, list)]
        else:
            pending += [(item, (*path, at), document) for at, item in enumerate(holder) if type(item) in (dict, list)]
    return found
