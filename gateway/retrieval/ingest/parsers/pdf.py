"""Text layer of PDF files, with pypdf. Scanned pages have no text layer and give `no_text`."""

from __future__ import annotations

import io
import logging
import re

import pypdf
from pypdf.errors import LimitReachedError, PyPdfError

from .blocks import Blocks
from .extracted import Extraction, Limits, Reason, Refused

EXTRACTOR = f"pypdf {pypdf.__version__}"

_LOST = "Impossible to decode XFormObject"  # pypdf logs this warning, and continues without the form's text

_PARAGRAPH = re.compile(r"\n[ \t]*\n")


class _LostText(logging.Handler):
    """Notices warnings of pypdf about text that it omits."""

    is_noticed = False

    def emit(self, record: logging.LogRecord) -> None:
        self.is_noticed = self.is_noticed or str(record.msg).startswith(_LOST)


def extract(content: bytes, limits: Limits) -> Extraction:
    """Return one block for each paragraph, with the number of its page.

    Raises:
        Refused: encrypted, damaged or above a limit.
    """
    log, lost = logging.getLogger("pypdf"), _LostText()
    log.handlers, log.propagate = [lost], False
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        if reader.is_encrypted:
            raise Refused(Reason.ENCRYPTED, "the PDF is encrypted")
        blocks = Blocks(limits)
        if len(reader.pages) > limits.pages:
            raise Refused(Reason.PAGES, f"expected at most {limits.pages} pages, got {len(reader.pages)}")
        for number, page in enumerate(reader.pages, 1):
            blocks.turn(number)
            for paragraph in _PARAGRAPH.split(page.extract_text()):
                blocks.add(paragraph)
    except LimitReachedError as error:
        raise Refused(Reason.ARCHIVE, "a stream of the PDF unpacks to more than 75 MB") from error
    except PyPdfError as error:
        raise Refused(Reason.MALFORMED, f"the PDF is damaged: {type(error).__name__}") from error
    if lost.is_noticed:
        raise Refused(Reason.MALFORMED, "a part of a page cannot be read")
    return Extraction(EXTRACTOR, blocks.found)
