"""The words around a word that could be one name or one company with it.

run = run_at("the contract of Kowalska, Anna M. from", 16, 24)
[token.text for token in run.tokens]          # ["contract", "of", "Kowalska", "Anna", "M", "from"]
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from ...names.cues import PARTICLES, TITLES
from ..index.people import ARTICLES, JOINTS, SERVANT

_LETTERS = r"[^\W_](?:[^\W_]|[\u0300-\u036f\u0610-\u061a\u064b-\u065f\u0670])*"
_DOT = r"\.(?=\w)"
_GAP = (
    r"(?:\.?[ \t\u00a0]{1,3}|[ \t]?\r?\n[ \t]{0,2}|-\r?\n[ \t]{0,2}|,[ \t\u00a0]{0,2}|['’`\-&/_+][ \t]?"
    r"|[ \t][\-–&][ \t]|"
    + _DOT
    + r"|[\"'«»“”„][ \t]?|[ \t][\"'’‘“«„]|[\"']?[ \t]{0,3}[;|\t,،][ \t]{0,3}[\"']?|(?:</?\w{1,8}>){1,3}"
    r"|[*_`~]{1,3}[ \t]{1,2}[*_`~]{0,3}|[ \t][*_`~]{1,3})"
)
_SEPARATORS = re.compile(r"(?<!-)\n|[,،;|\t<]")
_OWN_PARTS = ARTICLES | PARTICLES | JOINTS
_NOBILITY = frozenset(
    "van von vom zum zur ter ten bin ibn bint al el آل بن بنت ابن أبو ابو".split()  # noqa: SIM905 - read more easily
)
"""Parts of names that cannot be words; `de` is a word in Spanish."""
_RIGHT = re.compile(rf"(?P<gap>{_GAP})(?P<word>{_LETTERS})")
_LEFT = re.compile(rf"(?P<word>{_LETTERS})(?P<gap>{_GAP.replace(_DOT, _DOT[:2])})\Z")
_SOFT = re.compile("[яюєїе]|[yji][aeou]", re.IGNORECASE)  # after one letter and an apostrophe: В'ячеслав, D'yakonov
_PATRONYMIC = re.compile(r"(?:[оеєії]вич(?:[уаеі]|ем|еві)?|[оеєії]вн(?:[аиіуыюе]|ой|ою))\Z")
_REACH = 4  # words on either side
_LONGEST = 44  # characters of a word and a gap
_ABBREVIATIONS = frozenset(("prof", "dott", "geom"))  # those of titles that are as long as a sentence's last word
SIGNS = "ʿʾʻʼ"
"""Initials of Arabic consonants in Latin letters."""
_INITIAL_LETTERS = 2  # "Yu. Ivanov"


@dataclass(slots=True)
class Token:
    """A word in a text."""

    start: int
    end: int
    text: str
    gap: str
    """Text between it and the token before."""

    @property
    def letter(self) -> str:
        """The first letter; the sign before an Arabic one, as in ʿUbaid, does not count."""
        letter = self.text[0]
        return letter if letter not in SIGNS else self.text[:2][-1]

    @property
    def is_capital(self) -> bool:
        """Whether the word begins with a capital."""
        return self.text[0].isupper() or (self.text[0] in SIGNS and self.text[1:2].isupper())

    @property
    def is_caseless(self) -> bool:
        """True in a script without capitals."""
        letter = self.text[0]
        return not letter.isupper() and not letter.islower() and letter not in SIGNS

    @property
    def is_separated(self) -> bool:
        """Whether a comma, a line end or a cell end precedes."""
        return self.gap != " " and _SEPARATORS.search(self.gap) is not None

    def gap_is_letter(self, following: Token) -> bool:
        """Return whether an apostrophe or a line's end is before the next token, and both are pieces of one word."""
        is_within = following.gap in ("'", "’", "`") or (following.gap[:1] == "-" and "\n" in following.gap)
        is_one = following.text[0].islower() or (self.text.isupper() and following.text.isupper())
        is_piece = len(self.text) > 1 or _SOFT.match(following.text) is not None
        return is_within and is_one and is_piece and len(following.text) > 1


@dataclass(frozen=True, slots=True)
class WordRun:
    """A word and its neighbours."""

    tokens: list[Token]
    at: int
    """Which of them it is."""

    def parts(self) -> list[range]:
        """Return the tokens between separators."""
        cuts = [place for place, token in enumerate(self.tokens) if place > 0 and token.is_separated]
        return [range(first, last) for first, last in pairwise([0, *cuts, len(self.tokens)])]

    def is_initial(self, place: int, text: str) -> bool:
        """Return whether a token is an initial, as `A.` in `A. Kowalska`; `Dr.` does not count."""
        token = self.tokens[place]
        return (
            (token.is_capital or (token.is_caseless and len(token.text) == 1 and token.text.isalpha()))
            and len(token.text) <= _INITIAL_LETTERS
            and text[token.end : token.end + 1] == "."
            and (len(token.text) == 1 or token.text.lower() not in TITLES)
        )

    def first_of(self, place: int, text: str) -> int:
        """Return the first token of the name at `place`, including initials, `O'`, `Al-` and `Abdul` before it."""
        if place > 1 and self.tokens[place - 1].text.lower() in ("de", "der", "den", "het", "la", "t"):
            place -= self.tokens[place - 2].text.lower() in ("van", "von")
        is_part = place > 1 and (self.tokens[place - 1].text in PARTICLES or self.tokens[place - 1].text == "do")
        if is_part and self.is_initial(place - 2, text):
            place -= 2
        while place > 0:
            before, token = self.tokens[place - 1], self.tokens[place]
            is_joined = token.gap == "-" or (token.gap[:1] in ("'", "’") and len(before.text) <= _INITIAL_LETTERS)
            is_part = before.text.lower() in (_OWN_PARTS if before.is_capital else _NOBILITY)
            if not (is_joined or is_part or before.text.casefold() in SERVANT or self.is_initial(place - 1, text)):
                break
            place -= 1
        return place

    def last_of(self, place: int, text: str) -> int:
        """Return the last token of the name at `place`, with initials, patronymics and hyphenated parts after it."""
        has_initials = place > 0 and self.is_initial(place - 1, text) and not self.tokens[place].is_separated
        while place + 1 < len(self.tokens) and self._is_own(place + 1, text, has_initials=has_initials):
            place += 1
        return place

    def _is_own(self, place: int, text: str, *, has_initials: bool) -> bool:
        """Return whether the token belongs to the name before it.

        Args:
            has_initials: of the name, before it; initials after a comma are then those of the next name.
        """
        token = self.tokens[place]
        if token.gap == "-":
            return True
        if self.is_initial(place, text):
            return not token.is_separated or not (has_initials or self._opens_name(place, text))
        return token.gap == " " and token.is_capital and _PATRONYMIC.search(token.text.lower()) is not None

    def _opens_name(self, place: int, text: str) -> bool:
        """Return whether the initial is followed by a surname in the same cell: `P.` of "Kowalska, P. Harwood"."""
        for following in range(place + 1, len(self.tokens)):
            token = self.tokens[following]
            if token.is_separated:
                return False
            if not self.is_initial(following, text) and token.text.lower() not in PARTICLES:
                return token.is_capital
        return False

    def end_of(self, place: int, text: str) -> int:
        """Return the end of a name whose last word is this token, including the full stop of an initial."""
        return self.tokens[place].end + self.is_initial(place, text)


def run_at(text: str, start: int, end: int) -> WordRun:
    """Return the word at `text[start:end]` with its neighbours in the same sentence."""
    tokens = [Token(start, end, text[start:end], "")]
    while len(tokens) <= _REACH:
        first = tokens[0]
        pieces = text[max(0, first.start - _LONGEST) : first.start].rsplit(" ", 2)
        if len(pieces) == 3 and not pieces[2] and pieces[1].isalnum():  # most words; the pattern gives the same result
            first.gap = " "
            tokens.insert(0, Token(first.start - 1 - len(pieces[1]), first.start - 1, pieces[1], ""))
            continue
        match = _LEFT.search(text, max(0, first.start - _LONGEST), first.start)
        if match is None or _ends_sentence(match["word"], match["gap"]):
            break
        first.gap = match["gap"]
        tokens.insert(0, Token(match.start("word"), match.end("word"), match["word"], ""))
    at = len(tokens) - 1
    while len(tokens) - at <= _REACH:
        last = tokens[-1]
        match = _RIGHT.match(text, last.end)
        if match is None or _ends_sentence(last.text, match["gap"]):
            break
        tokens.append(Token(match.start("word"), match.end("word"), match["word"], match["gap"]))
    return WordRun(*_joined(tokens, at))


def _joined(tokens: list[Token], at: int) -> tuple[list[Token], int]:
    """Return the tokens, with names of two parts joined: Sil'vestr, Ahmet'in, عبد الله."""
    place = 1
    while place < len(tokens):
        first, second = tokens[place - 1], tokens[place]
        if first.gap_is_letter(second) or (first.text.endswith("عبد") and second.text.startswith("ال")):
            tokens[place - 1 : place + 1] = [Token(first.start, second.end, first.text + second.text, first.gap)]
            at -= place <= at
        else:
            place += 1
    return tokens, at


def _ends_sentence(word: str, gap: str) -> bool:
    """Return whether a full stop ends the sentence: not after an initial or an abbreviation, nor in `anna.kowalska`."""
    return gap.startswith(".") and len(gap) > 1 and len(word) > 3 and word.lower() not in _ABBREVIATIONS
