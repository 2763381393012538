"""Signed notes: a text and its signature lines (C2SP signed-note v1.0.0, https://c2sp.org/signed-note).

    example text

    — example.com/log Az3grlgtzPICa5OS8npVmf1M...

Only Ed25519 is supported. Lines of unknown keys are kept and ignored, as the standard requires. The parser accepts only
the canonical encoding of a note, so that every changed byte is detected.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass

from sovctl.support.errors import InputError
from sovctl.support.plain_json import decode_base64

from ..verify_key import BadSignature, Signer, VerifyKey, checked_key_name

MAX_NOTE_BYTES = 64 * 1024  # chosen; more than any checkpoint with Ed25519 cosignatures
MAX_SIGNATURES = 100  # golang.org/x/mod/sumdb/note; the standard asks for at least 16

_LINE = re.compile(r"— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})")
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")


@dataclass(frozen=True)
class SignatureLine:
    """One signature line, verified or not."""

    name: str
    key_id: bytes
    """4 bytes."""
    signature: bytes
    """64 bytes for Ed25519; 72 bytes, of which the first 8 are the time, for a cosignature."""

    def __str__(self) -> str:
        return f"— {self.name} {base64.b64encode(self.key_id + self.signature).decode()}\n"


@dataclass(frozen=True)
class Note:
    """A text and its signature lines. The text is untrusted until `verify` has returned."""

    text: str
    """Ends in a newline, which is part of the signed text."""
    signatures: tuple[SignatureLine, ...]

    def __str__(self) -> str:
        return self.text + "\n" + "".join(str(line) for line in self.signatures)

    def verify(self, name: str, key: VerifyKey) -> None:
        """Verify the signature of the text by `key` with key name `name`.

        Raises:
            BadSignature: no line of that key, or an invalid one.
        """
        lines = [line for line in self.signatures if (line.name, line.key_id) == (name, key.note_key_id(name))]
        if not lines:
            raise BadSignature(
                f"expected a signature by {name} (key hash {key.note_key_id(name).hex()}), got none",
                hint="give the public key of the log that should have signed it",
            )
        for line in lines:  # C2SP signed-note: one bad signature of a known key rejects the whole note
            key.verify(self.text.encode(), line.signature)


def sign_note(text: str, name: str, key: Signer) -> Note:
    """Sign `text` with `key` and key name `name`.

    Raises:
        InputError: invalid text of a note, or invalid key name.
    """
    if not text.endswith("\n") or _CONTROL.search(text):
        raise InputError("expected a note text that ends in a newline and has no other control characters")
    key_id = key.public.note_key_id(checked_key_name(name))
    return Note(text, (SignatureLine(name, key_id, key.sign(text.encode())),))


def parse_note(content: str | bytes) -> Note:
    """Parse a signed note. Does not verify signatures.

    Raises:
        InputError: not a signed note in its canonical encoding.
    """
    try:
        whole = content if isinstance(content, str) else content.decode()
    except UnicodeDecodeError:
        raise InputError("expected a signed note in UTF-8, got other bytes") from None
    if len(whole.encode(errors="replace")) > MAX_NOTE_BYTES:
        raise InputError(f"expected a signed note of at most {MAX_NOTE_BYTES} bytes, got {len(whole)} characters")
    body, separator, tail = whole.rpartition("\n\n")
    if not separator or not tail.endswith("\n") or _CONTROL.search(whole):
        raise InputError("expected a signed note (text, empty line, signature lines), got something else")
    lines = tail[:-1].split("\n")
    if len(lines) > MAX_SIGNATURES:
        raise InputError(f"expected at most {MAX_SIGNATURES} signature lines, got {len(lines)}")
    return Note(body + "\n", tuple(_signature_line(line) for line in lines))


def _signature_line(line: str) -> SignatureLine:
    match = _LINE.fullmatch(line)
    try:
        blob = decode_base64(match[2]) if match else b""
    except ValueError:
        blob = b""
    if match is None or len(blob) < 5:
        raise InputError("expected a signature line (em dash, name, base64), got something else")
    return SignatureLine(match[1], blob[:4], blob[4:])
