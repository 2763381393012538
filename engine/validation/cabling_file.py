"""Reads the planned cabling of a fabric (`fabric.cabling_file`), and reports all problems of the file together."""

from __future__ import annotations

from pathlib import Path

from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import InputError, Problem, SpecError

from ..fabric.cabling import PlannedLink
from ..fabric.reading import read_expected
from ..facts.unreadable import Unreadable

MAX_BYTES = 32 << 20
"""200,000 links of 160 bytes."""


def read_plan(path: Path) -> tuple[PlannedLink, ...]:
    """Return the planned links of a cabling file, or the links of an earlier output of ibnetdiscover.

    Raises:
        SpecError: all problems of the file.
        InputError: the file is unreadable, or a cut output.
    """
    try:
        links, problems = read_expected(read_text(path))
    except Unreadable as error:
        raise InputError(
            str(error), where=str(path), hint="the first line of a cabling file names its columns"
        ) from None
    if problems:
        hint = "`sovctl fabric show --cabling` writes the file of a discovered fabric"
        raise SpecError(
            [Problem(each.message, where=f"{path}:{each.line}", hint=hint) for each in problems],
            what="the cabling file",
        )
    return links


def read_text(path: Path) -> str:
    """Return a text file of a fabric: a plan, or the output of a tool.

    Raises:
        InputError: the file is absent, too large, or not UTF-8.
    """
    try:
        return read_bounded(path, MAX_BYTES).decode()
    except UnicodeDecodeError:
        raise InputError("expected UTF-8 text", where=str(path)) from None
    except OSError as error:
        raise InputError((error.strerror or "unreadable").lower(), where=str(path)) from None
