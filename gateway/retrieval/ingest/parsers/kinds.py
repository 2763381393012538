"""Selects the parser of a document by its first bytes. The name of the file decides only between text and HTML."""

from __future__ import annotations

from . import html_pages, office, pdf, plain_text
from .extracted import Extraction, Limits, Reason, Refused

_BINARY = {
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": (
        Reason.ENCRYPTED,  # MS-OFFCRYPTO 1.3.2: an encrypted docx is a compound file
        "an encrypted office file, or a format before Office 2007; save it as docx, xlsx or pptx without a password",
    ),
    b"\x7fELF": (Reason.KIND, "a program"),
    b"MZ": (Reason.KIND, "a program"),
    b"\x89PNG": (Reason.KIND, "an image; text recognition is not available"),
    b"\xff\xd8\xff": (Reason.KIND, "an image; text recognition is not available"),
    b"\x1f\x8b": (Reason.KIND, "a gzip archive"),
    b"Rar!": (Reason.KIND, "a rar archive"),
    b"7z\xbc\xaf\x27\x1c": (Reason.KIND, "a 7z archive"),
}
_HTML_SUFFIXES = frozenset({".html", ".htm", ".xhtml"})
_HTML_STARTS = (b"<!doctype html", b"<html")
SUFFIXES = frozenset({".pdf", ".docx", ".xlsx", ".pptx", ".odt", ".txt", ".md", ".csv", *_HTML_SUFFIXES})


def extract(content: bytes, suffix: str, limits: Limits) -> Extraction:
    """Parse a document.

    Args:
        suffix: of the file name, lower case, with the dot.

    Raises:
        Refused: the document is unsupported, encrypted, damaged or above a limit.
    """
    for mark, (reason, message) in _BINARY.items():
        if content.startswith(mark):
            raise Refused(reason, message)
    head = content[:1024].lstrip(b"\xef\xbb\xbf \t\r\n")
    if content[:1024].find(b"%PDF-") >= 0:  # ISO 32000-2, annex I: within the first 1024 bytes
        extraction = pdf.extract(content, limits)
    elif content.startswith(b"PK"):
        extraction = office.extract(content, limits)
    elif suffix in _HTML_SUFFIXES or head[:20].lower().startswith(_HTML_STARTS):
        extraction = html_pages.extract(content, limits)
    elif suffix in SUFFIXES and suffix not in (".pdf", ".docx", ".xlsx", ".pptx", ".odt"):
        extraction = plain_text.extract(content, limits)
    else:
        raise Refused(Reason.KIND, f"expected {', '.join(sorted(SUFFIXES))}")
    if not extraction.blocks:
        raise Refused(Reason.NO_TEXT, "the document has no text; scanned pages need text recognition first")
    return extraction
