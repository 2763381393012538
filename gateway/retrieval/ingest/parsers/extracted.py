"""Values of the parsers: blocks of text, limits, and the refusal of a document. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Reason(StrEnum):
    """Why a document is refused. Nothing of a refused document is stored, and its earlier version remains."""

    ARCHIVE = "archive_too_large"
    CRASHED = "parser_crashed"
    ENCRYPTED = "encrypted"
    ENTITIES = "xml_declarations"
    GROUPS = "no_groups"
    KIND = "unsupported_kind"
    MALFORMED = "malformed"
    MEMORY = "memory_limit"
    NAME = "invalid_name"
    NESTING = "nesting_too_deep"
    NO_TEXT = "no_text"
    OUTPUT = "text_too_large"
    PAGE = "page_too_large"
    PAGES = "too_many_pages"
    SERVICE = "rejected_by_service"
    SIZE = "file_too_large"
    TIME = "time_limit"
    UNREADABLE = "unreadable"


class Refused(Exception):
    """The document is not ingested.

    Args:
        message: the problem, in lower case, without text of the document.
    """

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a heading, or a row of a table."""

    text: str
    page: int | None = None
    """Page of a PDF, slide of a presentation or sheet of a workbook, from 1; None for formats without pages."""
    level: int = 0
    """Level of a heading, 1 to 9; 0 for text."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """Text of one document, in reading order."""

    extractor: str
    """Parser and its version, such as `pypdf 7.1.1`."""
    blocks: list[Block] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one document. All values are chosen for this project (2026-11-29), not measured."""

    file_bytes: int = 100 << 20
    """Size of the file."""
    memory_bytes: int = 1 << 30
    """Address space of the parser process."""
    cpu_s: int = 60
    """Processor time of the parser process."""
    wall_s: float = 120.0
    """Time until the parser process is killed."""
    text_bytes: int = 64 << 20
    """Output of the parser process: JSON of the extracted text."""
    page_characters: int = 1_000_000
    """Text of one page, slide or sheet row set; a printed page has about 3,000."""
    pages: int = 10_000
    """Pages, slides or sheets."""
    archive_entries: int = 10_000
    """Files in a zip archive."""
    archive_bytes: int = 512 << 20
    """Uncompressed size of all files in a zip archive."""
    archive_ratio: int = 200
    """Uncompressed to compressed size of a part of more than 1 MiB; XML of office files has 10 to 50."""
    depth: int = 256
    """Nested elements of XML and HTML."""
