"""QR codes (ISO/IEC 18004) of short texts, on the terminal or as an SVG or PNG file, with the extra `qr` (segno).

The code has the UTF-8 text with its encoding (ECI 26), so that a scanner returns the same text.
"""

from __future__ import annotations

import io
from pathlib import Path

from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import InputError, MissingTool

from .. import output

TERMINAL = "terminal"
_SUFFIXES = (".svg", ".png")
_MAX_BYTES = 2951  # version 40, level L, byte mode, without the ECI header (ISO/IEC 18004, table 7)
_PIXELS = 4  # of one module in a PNG file


def show_qr_code(text: str, target: str) -> None:
    """Print the code, or write it to a file.

    Args:
        target: `terminal`, or a file with the suffix .svg or .png.

    Raises:
        InputError: another suffix, or a text that is too long.
        MissingTool: the extra `qr` is not installed.
    """
    if target != TERMINAL and not target.endswith(_SUFFIXES):
        raise InputError(f"expected terminal, FILE.svg or FILE.png, got {target}", where="--qr")
    try:
        import segno
    except ImportError:
        raise MissingTool("missing Python package: segno", hint="pip install 'sovctl[qr]'") from None
    size = len(text.encode())
    if size > _MAX_BYTES:
        message = f"expected at most {_MAX_BYTES} bytes in a QR code, got {size}"
        raise InputError(message, where="--qr", hint="exchange the text as a file")
    code = segno.make_qr(text, error="L", encoding="utf-8", eci=True)
    if target == TERMINAL:
        drawing = io.StringIO()
        code.terminal(drawing, compact=True)
        output.line(drawing.getvalue().rstrip("\n"))
        return
    image = io.BytesIO()
    code.save(image, kind=target[-3:], scale=_PIXELS)
    write_atomic(Path(target), image.getvalue())
    output.info(f"wrote {target}")
