"""Process of one untrusted document: `python -I -m sovctl.gateway.retrieval.ingest.parsers.worker`.

Reads the document from standard input, drops all rights, parses, writes one JSON document to standard output:
`{"extractor", "blocks": [[text, page, level]...]}` or `{"refused": {"reason", "message"}}`. `sandbox` starts it.
"""

from __future__ import annotations

import codecs
import json
import os
import sys
import warnings
from dataclasses import fields

from sovctl.support import lockdown

from . import kinds
from .extracted import Limits, Reason, Refused

LOCKDOWN_FAILED = 3  # exit code: a required layer is unavailable

_CODECS = (
    "utf_8 utf_8_sig utf_16 utf_16_le utf_16_be latin_1 cp1252 iso8859_15 ascii cp437 mac_roman charmap unicode_escape "
    "raw_unicode_escape gbk gb2312 gb18030 cp950 big5 shift_jis cp932 euc_jp cp949 euc_kr"
)
_SMALL_PDF = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj
4 0 obj<</Length 29>>stream
BT /F 9 Tf 9 9 Td (a b) Tj ET
endstream endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
trailer<</Root 1 0 R/Size 6>>
startxref
0
%%EOF
"""


def _load_modules(limits: Limits) -> None:
    """Import everything that parsing needs, because no file can be opened afterwards."""
    for name in _CODECS.split():
        codecs.lookup(name)
    kinds.extract(_SMALL_PDF, ".pdf", limits)


def main() -> int:
    """Parse standard input; return the exit code."""
    given = json.loads(sys.argv[1])
    limits = Limits(**{each.name: given["limits"][each.name] for each in fields(Limits)})
    warnings.simplefilter("ignore")
    _load_modules(limits)
    content = bytearray()
    while chunk := os.read(0, 1 << 20):
        content += chunk
    try:
        lockdown.enter(memory_bytes=limits.memory_bytes, cpu_s=limits.cpu_s, user_id=given["user_id"])
    except OSError as error:
        os.write(2, str(error).encode())
        return LOCKDOWN_FAILED
    _write(result(bytes(content), given["suffix"], limits))
    return 0


def result(content: bytes, suffix: str, limits: Limits) -> dict[str, object]:
    """Return the output of the process as plain values."""
    try:
        extraction = kinds.extract(content, suffix, limits)
    except Refused as error:
        return _refusal(error.reason, error.message)
    except RecursionError:
        return _refusal(Reason.NESTING, "the structure is nested too deeply")
    except MemoryError:
        return _refusal(Reason.MEMORY, f"parsing needs more than {limits.memory_bytes >> 20} MiB")
    except Exception as error:  # noqa: BLE001 - parsers of untrusted input raise anything
        return _refusal(Reason.MALFORMED, f"the parser failed: {type(error).__name__}")
    blocks = [[block.text, block.page, block.level] for block in extraction.blocks]
    return {"extractor": extraction.extractor, "blocks": blocks}


def _refusal(reason: Reason, message: str) -> dict[str, object]:
    return {"refused": {"reason": reason, "message": message}}


def _write(value: dict[str, object]) -> None:
    try:
        data = memoryview(json.dumps(value).encode())
    except MemoryError:
        data = memoryview(json.dumps(_refusal(Reason.MEMORY, "the text needs too much memory")).encode())
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    os._exit(main())  # the interpreter's shutdown needs system calls that are forbidden
