"""Forms with files (RFC 7578): parsed by python-multipart, which vLLM's server uses, and always written again. Pure.

- An upstream receives only what `write_form` writes, so it cannot read a form otherwise than the gateway.
- A form is refused if it is incomplete, has text outside of its parts, or if a part has no usable name.
- Contents of files are not copied when a form is parsed.

    form = parse_form(content_type, body)
    form.fields                               # (("model", "whisper"), ...) in order
    write_form(form.fields, form.files)       # the same fields with a boundary of the gateway
    content_type_of(written)                  # its content type
"""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # its warnings quote bytes of the body

_MAX_PARTS = 128  # the transcription API has about 30 fields; chosen well above
_MAX_HEADER_BYTES = 4096  # of one header line; Starlette reads 4,224, and rewritten lines are at most 64 bytes longer
_MAX_TEXT_BYTES = 1 << 20  # of a field without a file; Starlette's `max_part_size`
_MAX_FILE_NAME = 255  # characters; the limit of most file systems
_BOUNDARY = re.compile(rb"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]")  # RFC 2046, 5.1.1
_MEDIA_TYPE = re.compile(rb"[A-Za-z0-9!#$&^_.+-]{1,64}/[A-Za-z0-9!#$&^_.+-]{1,64}")  # RFC 6838, 4.2
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_UNQUOTED = re.compile(r'["\\\x00-\x1f\x7f]')  # not inside a quoted name, so that no parser removes an escape
_FIELD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}(?:\[\])?")
_PLAIN_ENCODINGS = (b"7bit", b"8bit", b"binary")
_DEFAULT_TYPE = "application/octet-stream"


class FormError(ValueError):
    """The body is not a valid form. The message contains nothing of it."""


@dataclass(frozen=True, slots=True)
class FormFile:
    """A file of a form."""

    field: str
    name: str
    """Its name, without quotes, backslashes and control characters."""
    media_type: str
    content: memoryview
    """A part of the body."""


@dataclass(frozen=True, slots=True)
class Form:
    """The parts of a form, each in order."""

    fields: tuple[tuple[str, str], ...]
    """Names and values of the fields without a file."""
    files: tuple[FormFile, ...]


def parse_form(content_type: str, body: bytes) -> Form:
    """Parse the form in `body`.

    Raises:
        FormError: it is invalid, incomplete, or larger than a limit.
    """
    boundary = _boundary_of(content_type)
    delimiter = b"--" + boundary
    end = body.find(b"\r\n" + delimiter + b"--")
    if not body.startswith(delimiter) or end < 0 or body[end + len(delimiter) + 4 :] not in (b"", b"\r\n"):
        raise FormError("text outside of the parts, or no end")
    reader = _Reader()
    try:
        parser = MultipartParser(boundary, reader.callbacks, max_header_size=_MAX_HEADER_BYTES)
        parser.write(body)
        parser.finalize()
    except FormParserError:
        raise FormError("not a form") from None
    if not reader.has_ended:
        raise FormError("no end")
    return Form(tuple(reader.fields), tuple(reader.files))


def write_form(fields: Iterable[tuple[str, str]], files: Iterable[FormFile]) -> bytes:
    """Return a form with these parts, and a boundary that no part can contain: it is random and made after them.

    Raises:
        FormError: the name of a field cannot be written without escapes.
    """
    boundary = f"--sovctl-{secrets.token_hex(16)}\r\n".encode()
    pieces: list[bytes | memoryview] = []
    for name, value in fields:
        pieces += [boundary, _head(name), b"\r\n", value.encode(), b"\r\n"]
    for file in files:
        head = _head(file.field, f'; filename="{file.name}"', f"Content-Type: {file.media_type}\r\n")
        pieces += [boundary, head, b"\r\n", file.content, b"\r\n"]
    return b"".join([*pieces, boundary[:-2], b"--\r\n"])


def content_type_of(written: bytes) -> str:
    """Return the content type of a form that `write_form` wrote."""
    boundary = written[2 : written.index(b"\r")]
    return f"multipart/form-data; boundary={boundary.decode()}"


def _head(name: str, more: str = "", headers: str = "") -> bytes:
    if not _FIELD_NAME.fullmatch(name):
        raise FormError("a field name with other characters")
    return f'Content-Disposition: form-data; name="{name}"{more}\r\n{headers}'.encode()


def _boundary_of(content_type: str) -> bytes:
    try:
        kind, options = parse_options_header(content_type)
    except (UnicodeError, ValueError):
        raise FormError("an invalid content type") from None
    boundary, charset = options.get(b"boundary", b""), options.get(b"charset", b"utf-8")
    if kind != b"multipart/form-data" or not _BOUNDARY.fullmatch(boundary) or charset.lower() not in _UTF8:
        raise FormError("another content type, boundary or character set")
    return boundary


_UTF8 = (b"utf-8", b"utf8")


class _Reader:
    """Collects the parts while the body is parsed."""

    def __init__(self) -> None:
        self.fields: list[tuple[str, str]] = []
        self.files: list[FormFile] = []
        self.has_ended = False
        self._headers: dict[bytes, bytes] = {}
        self._name, self._value = b"", b""
        self._field, self._filename = "", ""
        self._is_file = False
        self._pieces: list[memoryview] = []
        self.callbacks: MultipartCallbacks = {
            "on_part_begin": self._part_begin,
            "on_header_field": self._header_field,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_finished,
            "on_part_data": self._part_data,
            "on_part_end": self._part_end,
            "on_end": self._end,
        }

    def _part_begin(self) -> None:
        if len(self.fields) + len(self.files) == _MAX_PARTS:
            raise FormError("too many parts")
        self._headers, self._pieces = {}, []

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        name = self._name.lower()
        if name in self._headers or _CONTROL.search(self._value):
            raise FormError("a header twice, or with control characters")
        self._headers[name] = self._value
        self._name, self._value = b"", b""

    def _headers_finished(self) -> None:
        headers = self._headers
        disposition = headers.get(b"content-disposition", b"")
        kind, options = parse_options_header(disposition)
        if kind != b"form-data" or not options.get(b"name"):
            raise FormError("a part without a name")
        if headers.get(b"content-transfer-encoding", b"binary").strip().lower() not in _PLAIN_ENCODINGS:
            raise FormError("an encoded part")
        self._is_file = b"filename" in options
        if not self._is_file and b"filename*" in disposition.lower():  # RFC 7578, 4.2, forbids it
            raise FormError("a file with an extended name only")
        try:
            self._field, self._filename = options[b"name"].decode(), options.get(b"filename", b"").decode()
        except UnicodeDecodeError:
            raise FormError("a name that is not UTF-8") from None
        if self._is_file and not self._filename:
            raise FormError("a file without a name")

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        self._pieces.append(memoryview(data)[start:end])

    def _part_end(self) -> None:
        content = _joined(self._pieces)
        if self._is_file:
            media_type = self._headers.get(b"content-type", b"").strip()
            name = _UNQUOTED.sub("_", self._filename)[-_MAX_FILE_NAME:]
            kind = media_type.decode() if _MEDIA_TYPE.fullmatch(media_type) else _DEFAULT_TYPE
            self.files.append(FormFile(self._field, name, kind, content))
            return
        if len(content) > _MAX_TEXT_BYTES:
            raise FormError("a field is too large")
        try:
            self.fields.append((self._field, str(content, "utf-8")))
        except UnicodeDecodeError:
            raise FormError("a field is not UTF-8") from None

    def _end(self) -> None:
        self.has_ended = True


def _joined(pieces: Sequence[memoryview]) -> memoryview:
    return pieces[0] if len(pieces) == 1 else memoryview(b"".join(pieces))
