"""SHA-256 digests as pronounceable words, to compare a root over the telephone or on paper.

    to_words("00" * 32)[:11]        # "babab babab"

Each word encodes 16 bits, so that 16 words are the whole digest.
Source: D. S. Wilkerson, "A Proposal for Proquints", arXiv:0901.4016.
"""

from __future__ import annotations

import re

from sovctl.support.errors import InputError

_CONSONANTS, _VOWELS = "bdfghjklmnprstvz", "aiou"
_SHIFTS = ((12, _CONSONANTS), (10, _VOWELS), (6, _CONSONANTS), (4, _VOWELS), (0, _CONSONANTS))


def to_words(sha256: str) -> str:
    """Return the 16 words of a digest of 64 hex digits, separated by spaces."""
    numbers = (int(sha256[index : index + 4], 16) for index in range(0, 64, 4))
    return " ".join("".join(letters[(n >> shift) % len(letters)] for shift, letters in _SHIFTS) for n in numbers)


def parse_digest(text: str, *, where: str) -> str:
    """Return the digest of 16 words or of 64 hex digits.

    Raises:
        InputError: neither.
    """
    cleaned = " ".join(re.split(r"[\s-]+", text.strip().lower()))
    if re.fullmatch(r"[0-9a-f]{64}", cleaned):
        return cleaned
    words = cleaned.split()
    if len(words) != 16:
        raise InputError(f"expected 16 words or 64 hex digits, got {len(words)} words", where=where)
    return "".join(f"{_number(word, where):04x}" for word in words)


def _number(word: str, where: str) -> int:
    number = 0
    if len(word) == len(_SHIFTS) and all(letter in letters for letter, (_, letters) in zip(word, _SHIFTS, strict=True)):
        for letter, (shift, letters) in zip(word, _SHIFTS, strict=True):
            number |= letters.index(letter) << shift
        return number
    raise InputError(f"not a word of a root digest: {word[:20]!r}", where=where, hint="compare it with the paper")
