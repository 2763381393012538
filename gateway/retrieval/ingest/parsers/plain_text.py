"""Text files: UTF-8, or UTF-16 with a byte order mark. Headings of Markdown are the only markup that is read."""

from __future__ import annotations

import codecs
import re

from .blocks import Blocks
from .extracted import Extraction, Limits, Reason, Refused

EXTRACTOR = "sovctl-text 1"

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_KNOWN = {"utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "iso-8859-15", "latin1", "windows-1252", "cp1252"}
_PARAGRAPH = re.compile(r"\n[ \t\r]*\n")
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_BINARY = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def decoded(content: bytes, declared: str | None = None) -> str:
    """Return the text of a file.

    Args:
        declared: character set that the file states; None: UTF-8.

    Raises:
        Refused: unknown character set, or bytes that are not text in it.
    """
    name = (declared or "utf-8").lower()
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            name, content = encoding, content[len(mark) :]
            break
    else:
        if name not in _KNOWN:
            raise Refused(Reason.MALFORMED, "the file states an unsupported character set; save it as UTF-8")
    name = {"iso-8859-1": "windows-1252", "latin1": "windows-1252"}.get(name, name)  # WHATWG Encoding, 4.2
    try:
        text = content.decode(name)
    except UnicodeDecodeError as error:
        raise Refused(Reason.MALFORMED, f"byte {error.start} is not {name} text; save the file as UTF-8") from error
    if _BINARY.search(text):
        raise Refused(Reason.KIND, "the file contains binary data")
    return text


def extract(content: bytes, limits: Limits) -> Extraction:
    """Return one block for each paragraph, which ends at an empty line, and each Markdown heading.

    Raises:
        Refused: not text, or above a limit.
    """
    blocks = Blocks(limits)
    for paragraph in _PARAGRAPH.split(decoded(content).replace("\r\n", "\n")):
        lines: list[str] = []
        for line in paragraph.split("\n"):
            if heading := _HEADING.fullmatch(line.strip()):
                blocks.add("\n".join(lines))
                lines.clear()
                blocks.add(heading.group(2), level=len(heading.group(1)))
            else:
                lines.append(line)
        blocks.add("\n".join(lines))
    return Extraction(EXTRACTOR, blocks.found)
