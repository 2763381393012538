"""One `<gpu>` element of `nvidia-smi -q -x` as texts by path, read in one pass."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator

from ..numbers import leading_number


class GpuElement:
    """Texts of the elements below a GPU, by path such as `pci/pci_bus_id`. The first of equal paths counts."""

    def __init__(self, element: ET.Element) -> None:
        self.id = element.get("id")
        self._element = element
        self._texts: dict[str, str] = {}
        self._children: dict[str, list[tuple[str, str]]] = {}
        self._words: list[str] = []
        self._read(element, "")
        self._all_words = "\n".join(self._words).lower()

    def _read(self, element: ET.Element, path: str) -> None:
        children = self._children.setdefault(path, [])
        for child in element:
            here = f"{path}{child.tag}"
            text = child.text.strip() if child.text else ""
            if here not in self._texts:
                self._texts[here] = text
                children.append((child.tag, text))
            if text:
                self._words.append(text)
            if child.tail:
                self._words.append(child.tail)
            if len(child):
                self._read(child, f"{here}/")

    def text(self, path: str) -> str | None:
        """Return the text of an element; None if it is empty or missing."""
        return self._texts.get(path) or None

    def number(self, path: str) -> float | None:
        """Return the number at the start of an element's text; None without one."""
        return leading_number(self.text(path))

    def integer(self, path: str) -> int | None:
        """Return the integer part of `number`."""
        number = self.number(path)
        return None if number is None else int(number)

    def yes_no(self, path: str) -> bool | None:
        """Return whether the text is "Yes"; None if it is neither "Yes" nor "No"."""
        return {"Yes": True, "No": False}.get(self.text(path) or "")

    def children(self, path: str) -> Iterator[tuple[str, str]]:
        """Yield name and text of the elements directly below a path."""
        yield from self._children.get(f"{path}/", ())

    def section(self, path: str) -> ET.Element | None:
        """Return the first element of a path, for elements that repeat; None without one."""
        return self._element.find(path)

    def has_word(self, words: str) -> bool:
        """Return whether the text of any element contains the lower-case words; upper case is equal to lower case."""
        return words in self._all_words
