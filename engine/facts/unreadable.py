"""Error of all parsers in this folder: the output of a tool has an unknown format.

Parsers do not repair or guess. Text of an unknown format raises `Unreadable`; a field that is missing from a known
format is None. Both mean "not measured", which checks do not treat as healthy.
"""

from __future__ import annotations

from sovctl.support.errors import SovctlError

MALFORMED = (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, RecursionError)
"""Exceptions of the reading of a JSON document of another form: other types, infinite numbers, too many levels."""


class Unreadable(SovctlError):
    """Output of a tool in an unknown format.

    Args:
        expected: the expected format.
        got: the output; the message quotes its first line, up to 80 characters.
        where: name of the tool.
        is_description: `got` describes the output, and is not quoted.
    """

    def __init__(self, expected: str, got: str, *, where: str, is_description: bool = False) -> None:
        super().__init__(f"expected {expected}, got {got if is_description else excerpt(got)}", where=where)


def excerpt(text: str, *, width: int = 80) -> str:
    """Return the first line that is not blank, quoted and shortened; "nothing" without one."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if not first:
        return "nothing"
    printable = "".join(character if character.isprintable() else "?" for character in first)
    return repr(printable if len(printable) <= width else printable[: width - 1] + "…")
