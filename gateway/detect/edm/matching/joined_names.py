"""Finds names written as one word or letter by letter: `AnnaKowalska`, `A n n a  K o w a l s k a`.

One pass in C over the bytes of a text finds the candidates; only those are parsed. Each result is a `WordRun` of the
name's words, which `finder` looks up in the index.

    [[each.text for each in run.tokens] for run in joined_word_runs("#AnnaKowalska asked")]    # [["Anna", "Kowalska"]]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, pairwise

from ...names.cues import PARTICLES
from .word_run import Token, WordRun

# ASCII capitals are A; other letters a; continuation bytes of UTF-8 are left out; all else is a space.
_SHAPES = bytes(65 if 65 <= byte <= 90 else 97 if 97 <= byte <= 122 or byte >= 0xC2 else 32 for byte in range(256))
_CONTINUATIONS = bytes(range(0x80, 0xC0))
_HUMP = re.compile(
    r"[a-zß-öø-ÿāăąćčďđēęěğģīįıķļłńņňőœřśşšţťūůűųźżžа-яёіїєґәғқңөұүһα-ωά-ώ](?=[A-ZÀ-ÖØ-ÞĄĆČĎĐĘĚĞĢİĶĻŁŃŅŇŐŒŘŚŞŠŢŤŪŮŰŲŹŻŽА-ЯЁІЇЄҐӘҒҚҢӨҰҮҺΑ-Ω])"
)
_LETTERS = re.compile(r"[^\W\d_]+")
_SPACED = re.compile(r"(?<![^\W_])[^\W\d_](?:[ \u00a0]{1,4}[^\W\d_]){5,40}(?![^\W_])")
_PARTICLE_AT_END = re.compile(
    r"(?<=\w{3})(?:(?:van|von)(?:de[rn]?|het|la|t)?|te[nr]|zu[mr]?|de(?:l(?:la|l)?|la|los)?|d[aou]s?|di|d|la|le|bin|al)\Z"
)
"""Particles of a surname without a capital after the given name: AlwinvandenHeuvel, SidoniedAubigny."""
_MOST_PIECES = 6
_OPENINGS = frozenset(("mc", "mac", "o", "d", "al", "el", "ben", "bin", "le", "la")) | PARTICLES
_MOST_SPACED = 50  # of a text; cutting them takes time


def joined_word_runs(text: str) -> Iterator[WordRun]:
    """Yield words that may be a whole name without its spaces, or with additional spaces."""
    shapes = text.encode("utf-8", "surrogatepass").translate(_SHAPES, _CONTINUATIONS)
    if b"aA" in shapes or not text.isascii():
        done = -1
        for hump in _HUMP.finditer(text):
            if hump.start() >= done:
                word = _word_around(text, hump.start())
                done = word[1]
                cuts = [word[0], *(each.end() for each in _HUMP.finditer(text, *word)), word[1]]
                if len(cuts) <= _MOST_PIECES + 1:
                    pieces = [Token(start, end, text[start:end], "") for start, end in pairwise(cuts)]
                    yield WordRun(pieces, 0)
                    if any(piece.text.lower() in _OPENINGS for piece in pieces[:-1]):
                        yield WordRun(_with_openings(pieces), 0)
                    if match := _PARTICLE_AT_END.search(pieces[0].text):
                        yield WordRun(_with_openings(_with_particle(text, pieces, match.start())), 0)
    if b"a a a a a" in shapes.lower():
        for match in islice(_SPACED.finditer(text), _MOST_SPACED):
            yield from _spaced(text, *match.span())


def _word_around(text: str, place: int) -> tuple[int, int]:
    start = place
    while start > 0 and text[start - 1].isalpha():
        start -= 1
    match = _LETTERS.match(text, start)
    assert match is not None  # there is a letter at `place`
    return match.span()


def _with_particle(text: str, pieces: list[Token], length: int) -> list[Token]:
    """Return the pieces, with the rest of the first after `length` letters as a part of the second."""
    first, second = pieces[:2]
    cut, end = first.start + length, second.end
    return [Token(first.start, cut, text[first.start : cut], ""), Token(cut, end, text[cut:end], ""), *pieces[2:]]


def _with_openings(pieces: list[Token]) -> list[Token]:
    """Return the parts, with prefixes such as Mac and van joined to the following part."""
    found: list[Token] = []
    for piece in pieces:
        if found and found[-1].text.lower() in _OPENINGS:
            piece = Token(found[-1].start, piece.end, found.pop().text + piece.text, "")
        found.append(piece)
    return found


def _spaced(text: str, start: int, end: int) -> Iterator[WordRun]:
    """Return the words between wider gaps; without gaps, every division of the letters into two words."""
    places = [place for place in range(start, end) if text[place].isalpha()]
    narrow = min(second - first for first, second in pairwise(places))
    wide = [at for at, (first, second) in enumerate(pairwise(places), start=1) if second - first > narrow]
    if wide:
        # The first or the last letter may be a word of its own: "с А н н о й  К о в а л ь с к о й".
        for first in (0, 1):
            for last in (len(places), len(places) - 1):
                cuts = [first, *(at for at in wide if first < at < last), last]
                if len(cuts) <= _MOST_PIECES + 1:
                    yield WordRun([_joined(text, places[start:end]) for start, end in pairwise(cuts)], 0)
        return
    for cut in range(3, len(places) - 2):
        yield WordRun([_joined(text, places[:cut]), _joined(text, places[cut:])], 0)


def _joined(text: str, places: list[int]) -> Token:
    return Token(places[0], places[-1] + 1, "".join(text[place] for place in places), "")
