"""Formats of other tools, and their importers. The operator names the format; it is not guessed from the content."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from sovctl.support.errors import InputError

from .foreign import ForeignFile, bounded
from .grype import parse_grype
from .hdf import parse_hdf
from .sarif import parse_sarif
from .xccdf import parse_xccdf

FORMATS: Mapping[str, Callable[[bytes], ForeignFile]] = {
    "xccdf": parse_xccdf,
    "arf": parse_xccdf,
    "sarif": parse_sarif,
    "hdf": parse_hdf,
    "grype": parse_grype,
}


def parse(data: bytes, *, format_name: str, where: Path) -> ForeignFile:
    """Return the results of a file.

    Args:
        where: path of the file, for messages.

    Raises:
        InputError: unknown format, or a file of another format.
    """
    if format_name not in FORMATS:
        raise InputError(f"unknown format {format_name}", where="--format", hint=f"use one of {', '.join(FORMATS)}")
    try:
        return bounded(FORMATS[format_name](data))
    except InputError as error:
        raise InputError(
            error.message, where=str(where), hint=error.hint or f"compare with --format {format_name}"
        ) from None
