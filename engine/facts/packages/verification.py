"""Parser of `dpkg --verify` and `rpm --verify`: files that differ from their package.

Source of the format: dpkg(1), --verify-format rpm; rpm(8), "VERIFY OPTIONS".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..unreadable import Unreadable

_LINE = re.compile(
    r"^(?P<flags>[A-Za-z0-9?.]{8,9}|missing) {1,5}(?:(?P<kind>[cdglnr]) )?\s*(?P<path>/.+?)(?: \(.+\))?$"
)
_PROGRAM = re.compile(r"^/(?:usr/)?(?:s?bin|lib|lib64|libexec)/")


@dataclass(frozen=True, slots=True)
class Difference:
    """A file that differs from its package, or is missing."""

    path: str
    is_missing: bool
    has_other_content: bool
    is_configuration: bool

    @property
    def is_program(self) -> bool:
        """Whether the file is in a folder of programs and libraries."""
        return not self.is_configuration and _PROGRAM.match(self.path) is not None


def parse_differences(text: str) -> tuple[Difference, ...]:
    """Return the differences in the order printed; empty if all files are unchanged.

    Raises:
        Unreadable: a line has another form.
    """
    found = []
    for line in text.splitlines():
        if not line.strip():
            continue
        match = _LINE.match(line)
        if match is None:
            raise Unreadable("flags and path of a file", line, where="dpkg --verify")
        flags = match["flags"]
        found.append(Difference(match["path"], flags == "missing", flags != "missing" and flags[2] == "5",
                                match["kind"] == "c"))  # fmt: skip
    return tuple(found)
