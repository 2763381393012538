"""Renders the report as a PDF for print and archive, with the extra `pdf` (WeasyPrint).

- Equal documents give equal bytes with equal versions of WeasyPrint, Pango and fonts. The only time is `generated`.
- The renderer requests nothing: every URL that it would load is an error.
- Above `MAX_RECORDS_WITH_DETAILS`, the PDF has tables of all controls and checks, and details of those with a problem.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NoReturn

from sovctl.support.errors import MissingTool

from .document import document_bytes
from .html import render_html

FILE_NAME = "report.pdf"
MAX_RECORDS_WITH_DETAILS = 2000
_HINT = "pip install 'sovctl[pdf]'"


def require_weasyprint() -> None:
    """Import the renderer, before anything is written.

    Raises:
        MissingTool: the extra `pdf`, or Pango, is not installed.
    """
    try:
        import weasyprint  # noqa: F401
    except ImportError:
        raise MissingTool("missing Python package: weasyprint", hint=_HINT) from None
    except OSError:  # cffi.dlopen
        hint = "apt-get install libpango-1.0-0 libpangoft2-1.0-0"
        raise MissingTool("WeasyPrint cannot load the library Pango", hint=hint) from None


def render_pdf(document: Mapping[str, Any], *, files: Iterable[str] = ()) -> bytes:
    """Return the PDF of a report document (see `document.build_document`).

    Args:
        files: further files of the report folder, which the PDF lists.

    Raises:
        MissingTool: the extra `pdf` is not installed.
    """
    require_weasyprint()
    from weasyprint import HTML
    from weasyprint.urls import URLFetcher

    refused: list[str] = []

    class NoFetcher(URLFetcher):  # type: ignore[misc]
        def fetch(self, url: str, headers: object = None) -> NoReturn:  # noqa: ARG002 - signature of the base
            refused.append(url)
            raise ValueError("the report has no external resources")

    has_details = len(document["evidence"]) <= MAX_RECORDS_WITH_DETAILS
    page = render_html(document, files=files, paper=True, has_details=has_details)
    identifier = hashlib.sha256(document_bytes(document)).digest()[:16]
    with _time_of_fonts(document["generated"]):
        pdf: bytes = HTML(string=page, url_fetcher=NoFetcher()).write_pdf(pdf_identifier=identifier)
    assert not refused, f"the report template has external resources: {refused[:3]}"
    return pdf


@contextmanager
def _time_of_fonts(generated: str) -> Iterator[None]:
    """Set the time that fontTools writes into embedded fonts, where HarfBuzz is too old to reduce them."""
    before = os.environ.get("SOURCE_DATE_EPOCH")
    os.environ["SOURCE_DATE_EPOCH"] = str(int(datetime.fromisoformat(generated).timestamp()))
    try:
        yield
    finally:
        if before is None:
            del os.environ["SOURCE_DATE_EPOCH"]
        else:
            os.environ["SOURCE_DATE_EPOCH"] = before
