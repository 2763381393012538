"""Text of office files: docx, xlsx, pptx (ECMA-376) and odt (OASIS OpenDocument 1.3).

Deleted text of tracked changes, hidden text, hidden sheets and slides, comments, notes, macros and embedded files are
omitted: a reader of the document does not see them.
"""

from __future__ import annotations

import platform
import posixpath
import re
from collections.abc import Callable, Iterator

from .archive import Archive
from .blocks import Blocks
from .extracted import Extraction, Limits, Reason, Refused
from .sheets import read_sheets
from .xml_events import End, Start, events

EXTRACTOR = f"sovctl-office 1, expat {platform.python_version()}"

_DIGITS = re.compile(r"\d{1,9}(?=\.xml$)")
_TABLE = frozenset({"tab", "ptab"})
_IN_ROWS = {"p": " ", "tc": "\t"}  # separators of paragraphs and cells in a row of a table
_NOT_SHOWN = frozenset({"del", "moveFrom", "Fallback"})  # Fallback repeats the text of Choice (ECMA-376-3, 9.3)


def relations(archive: Archive, part: str, limits: Limits, *, kind: str = "") -> dict[str, str]:
    """Return the targets of a part's relationships inside the archive, by id.

    Args:
        part: empty for the relationships of the whole file.
        kind: end of the relationship's type.
    """
    folder, name = posixpath.split(part)
    source = posixpath.join(folder, "_rels", f"{name}.rels")
    if source not in archive.names:
        return {}
    found = {}
    for event in events(archive.chunks(source), limits):
        if not isinstance(event, Start) or event.name != "Relationship":
            continue
        is_external = event.attributes.get("TargetMode") == "External"
        if not is_external and event.attributes.get("Type", "").endswith(kind):
            target = event.attributes.get("Target", "")
            path = target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
            found[event.attributes.get("Id", "")] = path
    return found


def _main_part(archive: Archive, limits: Limits) -> str:
    """Return the part with the document's text (ECMA-376-2, 9.3); empty if it is not an office file."""
    named = relations(archive, "", limits, kind="/officeDocument").values()
    return next((part for part in (*named, *_FORMATS) if part in archive.names), "")


def _docx(archive: Archive, main: str, blocks: Blocks, limits: Limits) -> None:
    """Read paragraphs of the body and of footnotes. A row of a table is one block, with tabs between cells."""
    folder = posixpath.dirname(main)
    for part in (main, f"{folder}/footnotes.xml", f"{folder}/endnotes.xml"):
        if part in archive.names:
            _word_part(events(archive.chunks(part), limits), blocks)


def _word_part(source: Iterator[Start | End | str], blocks: Blocks) -> None:
    text: list[str] = []
    run: list[str] = []
    level = rows = deleted = 0
    is_text = is_hidden = False
    for event in source:
        if isinstance(event, str):
            if is_text and not deleted:
                run.append(event)
            continue
        name = event.name
        if isinstance(event, Start):
            if name == "t":
                is_text = True
            elif name == "r":
                run, is_hidden = [], False
            elif name == "vanish":
                is_hidden = event.attributes.get("val", "true") not in ("0", "false", "off")
            elif name in _TABLE:
                run.append("\t")
            elif name in ("br", "cr"):
                run.append("\n")
            elif name == "pStyle":
                level = _heading_level(event.attributes.get("val", ""))
            elif name == "tr":
                rows += 1
            elif name in _NOT_SHOWN:
                deleted += 1
        elif name == "t":
            is_text = False
        elif name == "r":
            text += [] if is_hidden else run
            run = []
        elif name == "p" and not rows:
            blocks.add("".join(text), level=level)
            text, level = [], 0
        elif name in _IN_ROWS:
            text.append(_IN_ROWS[name])
        elif name == "tr":
            rows -= 1
            if not rows:
                blocks.add("".join(text).strip())
                text, level = [], 0
        elif name in _NOT_SHOWN:
            deleted -= 1


def _heading_level(style: str) -> int:
    """Return the level of a paragraph style: `Heading2`, `berschrift2`, `Titre2`, `Title`; 0 for others."""
    if style in ("Title", "Titel", "Titre"):
        return 1
    last = style[-1:]
    is_heading = any(word in style.lower() for word in ("heading", "berschrift", "titre", "titolo", "ttulo", "kop"))
    return int(last) if is_heading and last.isdigit() and last.isascii() and last != "0" else 0


def _pptx(archive: Archive, main: str, blocks: Blocks, limits: Limits) -> None:
    """Read paragraphs of slides in the order of the presentation; the page is the number of the slide."""
    targets = relations(archive, main, limits)
    order = [
        event.attributes.get("r:id", "")
        for event in events(archive.chunks(main), limits)
        if isinstance(event, Start) and event.name == "sldId"
    ]
    for number, slide in enumerate(order, 1):
        blocks.turn(number)
        _slide(events(archive.chunks(targets.get(slide, "")), limits), blocks)


def _slide(source: Iterator[Start | End | str], blocks: Blocks) -> None:
    text: list[str] = []
    level = rows = 0
    is_text = False
    for event in source:
        if isinstance(event, str):
            if is_text:
                text.append(event)
        elif isinstance(event, Start):
            if event.name == "sld" and event.attributes.get("show") in ("0", "false"):
                return
            is_text = event.name == "t"
            rows += event.name == "tr"
            if event.name == "ph":
                level = 1 if event.attributes.get("type") in ("title", "ctrTitle") else 0
            elif event.name == "br":
                text.append("\n")
        else:
            is_text = False
            rows -= event.name == "tr"
            if event.name in ("p", "tr") and not rows:
                blocks.add("".join(text).strip(), level=level)
                text = []
            elif event.name in _IN_ROWS and rows:
                text.append(_IN_ROWS[event.name])
            level = 0 if event.name == "sp" else level


def _odt(archive: Archive, blocks: Blocks, limits: Limits) -> None:
    """Read paragraphs, headings and rows of tables of an OpenDocument text."""
    text: list[str] = []
    level = rows = omitted = depth = 0
    for event in events(archive.chunks("content.xml"), limits):
        if isinstance(event, str):
            if depth and not omitted:
                text.append(event)
        elif isinstance(event, Start):
            if event.name in ("p", "h"):
                depth += 1
                level = _outline(event) if event.name == "h" else level
            elif event.name in ("tracked-changes", "annotation", "hidden-text"):
                omitted += 1
            elif event.name == "table-row":
                rows += 1
            elif depth and not omitted:
                text.append({"tab": "\t", "line-break": "\n", "s": " "}.get(event.name, ""))
        elif event.name in ("p", "h"):
            depth -= 1
            if rows:
                text.append(" ")
            elif not depth:
                blocks.add("".join(text), level=level)
                text, level = [], 0
        elif event.name in ("tracked-changes", "annotation", "hidden-text"):
            omitted -= 1
        elif event.name == "table-cell":
            text.append("\t")
        elif event.name == "table-row":
            rows -= 1
            if not rows:
                blocks.add("".join(text).strip())
                text, level = [], 0


def _outline(event: Start) -> int:
    level = event.attributes.get("outline-level", "1")
    return min(int(level), 9) if level.isdigit() and level.isascii() and len(level) < 3 else 1


def _xlsx(archive: Archive, main: str, blocks: Blocks, limits: Limits) -> None:
    read_sheets(archive, main, blocks, limits, relations(archive, main, limits))


# Usual main part of each format; its last name without digits selects the reader.
_FORMATS: dict[str, Callable[[Archive, str, Blocks, Limits], None]] = {
    "word/document.xml": _docx,
    "xl/workbook.xml": _xlsx,
    "ppt/presentation.xml": _pptx,
}
_ODT = b"application/vnd.oasis.opendocument.text"


def extract(content: bytes, limits: Limits) -> Extraction:
    """Return the blocks of an office file; its parts decide the format, not its name.

    Raises:
        Refused: not an office file, encrypted, damaged or above a limit.
    """
    archive = Archive(content, limits)
    blocks = Blocks(limits)
    if archive.head("mimetype", 100).strip() == _ODT:
        if "META-INF/manifest.xml" in archive.names:
            _refuse_encrypted(archive, limits)
        _odt(archive, blocks, limits)
    elif reader := _FORMATS.get(_DIGITS.sub("", main := _main_part(archive, limits))):
        reader(archive, main, blocks, limits)
    else:
        raise Refused(Reason.KIND, "the zip archive is not docx, xlsx, pptx or odt")
    return Extraction(EXTRACTOR, blocks.found)


def _refuse_encrypted(archive: Archive, limits: Limits) -> None:
    for event in events(archive.chunks("META-INF/manifest.xml"), limits):
        if isinstance(event, Start) and event.name == "encryption-data":  # OpenDocument 1.3, part 2, 4.4
            raise Refused(Reason.ENCRYPTED, "the document is encrypted")
