"""Ingests the files of a folder into a collection, each in one transaction of the service.

- A file whose version, extractor and groups are stored already is unchanged, and is not sent. So an interrupted run
  continues where it ended. The service's list replaces a state file.
- A refused file changes nothing: its earlier version remains.
- A file without groups is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from .. import chunks
from ..values import Groups
from .access_list import AccessList
from .https import Rejected
from .parsers import html_pages, office, pdf, plain_text
from .parsers.extracted import Limits, Reason, Refused
from .sandbox import parse
from .service import NewDocument, Service, StoredDocument
from .sources import Source

_EXTRACTORS = (pdf.EXTRACTOR, office.EXTRACTOR, html_pages.EXTRACTOR, plain_text.EXTRACTOR)
_REJECTED = (400, 413, 422)
MAX_TITLE = 500


class Status(StrEnum):
    """Result for one document."""

    STORED = "stored"
    GROUPS = "groups_changed"
    UNCHANGED = "unchanged"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result for one document, for people and for `--json`."""

    source_id: str
    status: Status
    chunks: int = 0
    """Chunks that were stored; 0 if nothing was sent."""
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Ingestion:
    """Settings of one run."""

    service: Service
    collection: str
    access: AccessList
    limits: Limits
    user_id: int
    target_tokens: int = chunks.TARGET_TOKENS

    def extractor(self, parser: str) -> str:
        """Return the extractor of a document: its parser and the size of chunks."""
        return f"{parser}, chunks {self.target_tokens}"

    def is_current(self, stored: StoredDocument, version: str) -> bool:
        """Return whether a stored document has this version and an extractor of this run."""
        return stored.version == version and stored.extractor in {self.extractor(each) for each in _EXTRACTORS}

    def run(self, sources: Sequence[Source], stored: Mapping[str, StoredDocument], *, jobs: int) -> Iterator[Outcome]:
        """Ingest files, and yield the outcome of each in their order.

        Args:
            stored: documents of the collection before the run.
            jobs: documents in work at the same time.

        Raises:
            NodeUnreachable: the service does not answer; all yielded documents are stored.
        """
        _languages("load the tables once, before the threads start")
        pool = ThreadPoolExecutor(jobs)
        try:
            yield from pool.map(lambda source: self.one(source, stored.get(source.source_id)), sources)
        finally:
            pool.shutdown(cancel_futures=True)

    def one(self, source: Source, stored: StoredDocument | None) -> Outcome:
        """Ingest one file."""
        try:
            return self._store(source, stored)
        except Refused as error:
            return Outcome(source.source_id, Status.REFUSED, reason=error.reason, message=error.message)
        except Rejected as error:
            if error.status not in _REJECTED:
                raise
            return Outcome(source.source_id, Status.REFUSED, reason=Reason.SERVICE, message=error.message)

    def _store(self, source: Source, stored: StoredDocument | None) -> Outcome:
        if not source.source_id.isprintable():
            raise Refused(Reason.NAME, "the name has characters that cannot be printed")
        groups = self.access.groups(source.source_id)
        if groups is None:
            raise Refused(Reason.GROUPS, "no entry of the groups file permits a group")
        content = source.read(self.limits.file_bytes)
        version = version_of(content)
        if stored and self.is_current(stored, version):
            return self._with_groups(stored, groups)
        suffix = PurePosixPath(source.source_id).suffix
        extraction = parse(content, suffix=suffix, limits=self.limits, user_id=self.user_id)
        made = chunks.cut(extraction.blocks, _languages, target_tokens=self.target_tokens)
        self.service.put(
            self.collection,
            NewDocument(
                source_id=source.source_id,
                title=PurePosixPath(source.source_id).name[:MAX_TITLE],
                version=version,
                extractor=self.extractor(extraction.extractor),
                text=chunks.extracted_text(extraction.blocks),
                chunks=made,
                groups=groups,
            ),
        )
        return Outcome(source.source_id, Status.STORED, chunks=len(made))

    def _with_groups(self, stored: StoredDocument, groups: Groups) -> Outcome:
        if stored.groups == groups:
            return Outcome(stored.source_id, Status.UNCHANGED)
        self.service.set_groups(self.collection, stored.source_id, groups)
        return Outcome(stored.source_id, Status.GROUPS)


def version_of(content: bytes) -> str:
    """Return the version of a document: the SHA-256 of its file."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _languages(text: str) -> frozenset[str]:
    from ...detect.language.language import languages  # its package loads 2 s of tables

    return languages(text)
