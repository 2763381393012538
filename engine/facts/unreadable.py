"""The error of every parser here: what a tool printed is not what that tool prints.

A parser never repairs and never guesses. Text that it does not know raises `Unreadable`; a field that is missing from
text it does know becomes None. Both mean "not measured", and neither is ever healthy.
"""

from __future__ import annotations

from sovctl.support.errors import SovctlError


class Unreadable(SovctlError):
    """Tool output that does not have the tool's form.

    Args:
        expected: what the parser looked for.
        got: what was there; the first line of it is quoted, cut to 80 characters.
        where: the tool.
        in_our_words: True when `got` is not the tool's text but what we say of it.
    """

    def __init__(self, expected: str, got: str, *, where: str, in_our_words: bool = False) -> None:
        super().__init__(f"expected {expected}, got {got if in_our_words else excerpt(got)}", where=where)


def excerpt(text: str, *, width: int = 80) -> str:
    """The first line that says something, quoted and cut; "nothing" when there is none."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if not first:
        return "nothing"
    printable = "".join(character if character.isprintable() else "?" for character in first)
    return repr(printable if len(printable) <= width else printable[: width - 1] + "…")
