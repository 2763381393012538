"""Makes real documents for tests: PDF, docx, xlsx, pptx, odt, and damaged or hostile ones. All content is invented."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from html import escape

import pypdf
import xlsxwriter

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_P = "http://schemas.openxmlformats.org/presentationml/2006/main"
_A = "http://schemas.openxmlformats.org/drawingml/2006/main"
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
_ODF = "urn:oasis:names:tc:opendocument:xmlns"


def pdf(pages: Sequence[str]) -> bytes:
    """Return a PDF with one page for each text in Latin-1; a line feed begins a line."""
    objects = ["<</Type/Catalog/Pages 2 0 R>>", ""]
    kids = []
    for text in pages:
        escaped = [line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)") for line in text.split("\n")]
        stream = "BT /F 11 Tf 14 TL 50 780 Td " + " T* ".join(f"({line}) Tj" for line in escaped) + " ET"
        kids.append(len(objects) + 1)
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents {len(objects) + 2} 0 R"
            "/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>>>>>>>"
        )
        objects.append(f"<</Length {len(stream)}>>\nstream\n{stream}\nendstream")
    objects[1] = f"<</Type/Pages/Kids[{' '.join(f'{kid} 0 R' for kid in kids)}]/Count {len(kids)}>>"
    out = "%PDF-1.4\n"
    offsets = []
    for number, each in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{each}\nendobj\n"
    table = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n" + "".join(f"{each:010} 00000 n \n" for each in offsets)
    return (out + table + f"trailer<</Root 1 0 R/Size {len(objects) + 1}>>\nstartxref\n{len(out)}\n%%EOF\n").encode(
        "latin-1"
    )


def encrypted_pdf() -> bytes:
    """Return a PDF that needs a password."""
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf(["secret"])))
    writer.encrypt("invented", algorithm="AES-256")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    """Return a compressed zip archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in parts.items():
            made.writestr(name, content)
    return out.getvalue()


def docx(body: str) -> bytes:
    """Return a docx whose body is WordprocessingML."""
    return archive(
        {
            "[Content_Types].xml": "<Types/>",
            "word/document.xml": f'<w:document xmlns:w="{_W}"><w:body>{body}</w:body></w:document>',
        }
    )


def paragraph(text: str, *, style: str = "", properties: str = "") -> str:
    """Return a paragraph of WordprocessingML."""
    head = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{head}<w:r><w:rPr>{properties}</w:rPr><w:t>{escape(text)}</w:t></w:r></w:p>"


def pptx(slides: Sequence[tuple[str, str]], *, hidden: frozenset[int] = frozenset()) -> bytes:
    """Return a pptx with title and text of each slide. The files have the reverse order of the slides."""
    count = len(slides)
    parts = {
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{_P}" xmlns:r="{_R}"><p:sldIdLst>'
        + "".join(f'<p:sldId id="{255 + n}" r:id="rId{n}"/>' for n in range(1, count + 1))
        + "</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": f'<Relationships xmlns="{_PACKAGE}">'
        + "".join(f'<Relationship Id="rId{n}" Target="slides/slide{count - n}.xml"/>' for n in range(1, count + 1))
        + "</Relationships>",
    }
    for number, (title, text) in enumerate(slides, 1):
        show = ' show="0"' if number in hidden else ""
        parts[f"ppt/slides/slide{count - number}.xml"] = (
            f'<p:sld xmlns:p="{_P}" xmlns:a="{_A}"{show}><p:cSld><p:spTree>'
            f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr>'
            f"<p:txBody><a:p><a:r><a:t>{escape(title)}</a:t>"
            f"</a:r></a:p></p:txBody></p:sp><p:sp><p:txBody><a:p><a:r><a:t>{escape(text)}</a:t></a:r></a:p></p:txBody></p:sp>"
            "</p:spTree></p:cSld></p:sld>"
        )
    return archive(parts)


def odt(body: str, *, encrypted: bool = False) -> bytes:
    """Return an odt whose text is OpenDocument XML."""
    entry = '<manifest:encryption-data manifest:checksum="x"/>' if encrypted else ""
    return archive(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f'<office:document-content xmlns:office="{_ODF}:office:1.0" xmlns:text="{_ODF}:text:1.0" '
            f'xmlns:table="{_ODF}:table:1.0"><office:body><office:text>{body}</office:text></office:body>'
            "</office:document-content>",
            "META-INF/manifest.xml": f'<manifest:manifest xmlns:manifest="{_ODF}:manifest:1.0"><manifest:file-entry>'
            f"{entry}</manifest:file-entry></manifest:manifest>",
        }
    )


def xlsx() -> bytes:
    """Return a workbook with a table, a date, a formula and a hidden sheet, written by XlsxWriter."""
    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, {"in_memory": True})
    sheet = book.add_worksheet("Limits")
    sheet.write_row(0, 0, ["Product", "Limit", "Valid from"])
    sheet.write_row(1, 0, ["Card", 2500])
    sheet.write_number(1, 2, 46_023, book.add_format({"num_format": "dd.mm.yyyy"}))
    sheet.write_formula(2, 1, "=B2*2", None, 5000)
    hidden = book.add_worksheet("Drafts")
    hidden.write(0, 0, "unpublished")
    hidden.hide()
    book.close()
    return out.getvalue()
