"""Forms with files (RFC 7578): finds each field's span in the body, in one pass. Pure.

form = parse_form(content_type, body)
form.texts["model"], form.files["file"].filename
form.with_text("model", "whisper")      # the same bytes with another value of `model`
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_BOUNDARY = re.compile(r'(?i)^multipart/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))')
_PARAMETER = re.compile(r';\s*(name|filename)="((?:[^"\\]|\\.)*)"', re.IGNORECASE)
_DISPOSITION = "content-disposition:"
_MAX_PARTS = 128  # the transcription API has about 30 fields; chosen well above
_MAX_HEAD_BYTES = 4096  # of one part; names and types are short


class FormError(ValueError):
    """The body is not a valid form. The message contains nothing of it."""


@dataclass(frozen=True, slots=True)
class FormPart:
    """One field, as a span of the body."""

    name: str
    filename: str | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Form:
    """A form and its body."""

    body: bytes
    parts: tuple[FormPart, ...]

    @property
    def texts(self) -> dict[str, str | list[str]]:
        """Fields without a file name; repeated fields as lists.

        Raises:
            FormError: one of them is not UTF-8.
        """
        texts: dict[str, str | list[str]] = {}
        for part in self.parts:
            if part.filename is not None:
                continue
            try:
                value = self.body[part.start : part.end].decode()
            except UnicodeDecodeError:
                raise FormError("a field is not UTF-8") from None
            before = texts.get(part.name)
            if before is None:
                texts[part.name] = value
            elif isinstance(before, list):
                before.append(value)
            else:
                texts[part.name] = [before, value]
        return texts

    @property
    def files(self) -> dict[str, FormPart]:
        """Fields with a file name."""
        return {part.name: part for part in self.parts if part.filename is not None}

    def with_text(self, name: str, value: str) -> bytes:
        """Return the body with `value` in every field called `name`."""
        pieces, position = [], 0
        for part in self.parts:
            if part.name == name:
                pieces += [self.body[position : part.start], value.encode()]
                position = part.end
        return b"".join([*pieces, self.body[position:]])


def parse_form(content_type: str, body: bytes) -> Form:
    """Parse the form in `body`.

    Raises:
        FormError: it is invalid, or has too many fields.
    """
    match = _BOUNDARY.match(content_type)
    if match is None:
        raise FormError("no boundary")
    delimiter = b"--" + (match.group(1) or match.group(2)).encode("latin-1")
    if not body.startswith(delimiter):
        raise FormError("no first part")
    parts: list[FormPart] = []
    position = len(delimiter)
    while not body.startswith(b"--", position):
        if not body.startswith(b"\r\n", position):
            raise FormError("a delimiter is followed by something else")
        head_end = body.find(b"\r\n\r\n", position, position + _MAX_HEAD_BYTES)
        end = body.find(b"\r\n" + delimiter, max(head_end, 0) + 2)
        if head_end < 0 or end < 0 or len(parts) == _MAX_PARTS:
            raise FormError("a part without an end, or too many of them")
        name, filename = _named(body[position:head_end])
        parts.append(FormPart(name, filename, min(head_end + 4, end), end))
        position = end + 2 + len(delimiter)
    return Form(body, tuple(parts))


def _named(head: bytes) -> tuple[str, str | None]:
    try:
        lines = head.decode().split("\r\n")
    except UnicodeDecodeError:
        raise FormError("a part's head is not UTF-8") from None
    for line in lines:
        if line.lower().startswith(_DISPOSITION):
            parameters = {key.lower(): value for key, value in _PARAMETER.findall(line)}
            if "name" in parameters:
                return parameters["name"], parameters.get("filename")
    raise FormError("a part without a name")
