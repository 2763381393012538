"""Rows of xlsx workbooks. A row is one block, with tabs between cells; the page is the number of the sheet.

Cells have their stored values: the last result of a formula, and dates as ISO 8601.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from .archive import Archive
from .blocks import Blocks
from .extracted import Limits
from .xml_events import End, Start, events

_DATE_FORMATS = frozenset({*range(14, 18), 22, *range(27, 37), *range(50, 59)})  # ECMA-376-1, 18.8.30
_QUOTED = re.compile(r'"[^"]{0,255}"|\[[^\]]{0,255}\]|\\.')  # a number format has at most 255 characters
_DATE = re.compile(r"[dy]", re.IGNORECASE)
_EPOCH = datetime(1899, 12, 30, tzinfo=UTC)  # ECMA-376-1, 18.17.4.1: the 1900 date system
_EPOCH_1904 = datetime(1904, 1, 1, tzinfo=UTC)
_MOST_EMPTY = 100  # empty cells before a cell that are written as tabs
_LAST_DAY = 2_958_465  # 9999-12-31


def read_sheets(archive: Archive, main: str, blocks: Blocks, limits: Limits, targets: Mapping[str, str]) -> None:
    """Add the rows of all visible sheets, in the order of the workbook.

    Raises:
        Refused: damaged or above a limit.
    """
    epoch = _EPOCH
    sheets: list[tuple[str, str]] = []
    for event in events(archive.chunks(main), limits):
        if isinstance(event, Start) and event.name == "workbookPr":
            epoch = _EPOCH_1904 if event.attributes.get("date1904") in ("1", "true") else epoch
        elif (
            isinstance(event, Start) and event.name == "sheet" and event.attributes.get("state", "visible") == "visible"
        ):
            sheets.append((event.attributes.get("name", ""), targets.get(event.attributes.get("r:id", ""), "")))
    strings = _shared_strings(archive, limits)
    dates = _date_styles(archive, limits)
    for number, (name, part) in enumerate(sheets, 1):
        blocks.turn(number)
        blocks.add(name, level=1)
        _sheet(archive, part, blocks, limits, strings, dates, epoch)


def _shared_strings(archive: Archive, limits: Limits) -> list[str]:
    found: list[str] = []
    if "xl/sharedStrings.xml" not in archive.names:
        return found
    text: list[str] = []
    is_text, phonetic = False, 0
    for event in events(archive.chunks("xl/sharedStrings.xml"), limits):
        if isinstance(event, str):
            if is_text and not phonetic:
                text.append(event)
        elif isinstance(event, Start):
            is_text = event.name == "t"
            phonetic += event.name == "rPh"
        else:
            is_text = False
            phonetic -= event.name == "rPh"
            if event.name == "si":
                found.append("".join(text))
                text = []
    return found


def _date_styles(archive: Archive, limits: Limits) -> frozenset[int]:
    """Return the indexes of cell styles that format a number as a date."""
    if "xl/styles.xml" not in archive.names:
        return frozenset()
    own: set[str] = set()
    styles: list[str] = []
    in_cells = False
    for event in events(archive.chunks("xl/styles.xml"), limits):
        if event == End("cellXfs"):
            in_cells = False
        if not isinstance(event, Start):
            continue
        in_cells = in_cells or event.name == "cellXfs"
        if event.name == "numFmt" and _DATE.search(_QUOTED.sub("", event.attributes.get("formatCode", ""))):
            own.add(event.attributes.get("numFmtId", ""))
        elif event.name == "xf" and in_cells:
            styles.append(event.attributes.get("numFmtId", "0"))
    built_in = {str(number) for number in _DATE_FORMATS}
    return frozenset(index for index, number in enumerate(styles) if number in own | built_in)


def _sheet(
    archive: Archive,
    part: str,
    blocks: Blocks,
    limits: Limits,
    strings: list[str],
    dates: frozenset[int],
    epoch: datetime,
) -> None:
    row: list[str] = []
    text: list[str] = []
    kind = style = ""
    is_value = False
    for event in events(archive.chunks(part), limits):
        if isinstance(event, str):
            if is_value:
                text.append(event)
        elif isinstance(event, Start):
            if event.name == "c":
                kind, style, text = event.attributes.get("t", "n"), event.attributes.get("s", "0"), []
                row += [""] * min(_column(event.attributes.get("r", "")) - len(row), _MOST_EMPTY)
            is_value = event.name in ("v", "t")
        else:
            is_value = False
            if event.name == "c":
                row.append(_value("".join(text), kind, _number(style) in dates, strings, epoch))
            elif event.name == "row":
                blocks.add("\t".join(row).rstrip() if any(row) else "")
                row = []


def _column(reference: str) -> int:
    """Return the number of cells before a cell such as `C7`; 0 without a reference."""
    number = 0
    for letter in reference.rstrip("0123456789")[:3]:
        number = number * 26 + ord(letter.upper()) - ord("A") + 1
    return max(number - 1, 0)


def _value(text: str, kind: str, is_date: bool, strings: list[str], epoch: datetime) -> str:
    if kind == "s":
        index = _number(text)
        return strings[index] if 0 <= index < len(strings) else ""
    if kind == "b":
        return {"1": "TRUE", "0": "FALSE"}.get(text, "")
    if kind == "n" and is_date:
        return _date(text, epoch)
    return text


def _date(text: str, epoch: datetime) -> str:
    """Return a serial number as a date or a date with time; unchanged if it is out of range."""
    try:
        days = float(text)
    except ValueError:
        return text
    if not 0 <= days <= _LAST_DAY:
        return text
    moment = epoch + timedelta(seconds=round(days * 86_400))
    return moment.strftime("%Y-%m-%d" if days.is_integer() else "%Y-%m-%d %H:%M:%S")


def _number(text: str) -> int:
    return int(text) if text.isdigit() and text.isascii() and len(text) < 10 else -1
