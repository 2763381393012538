"""Classifies the words around a number by topic: `phone`, `tax`, `order`.

    topics = Topics(["@phone", "bsn burgerservicenummer*"])
    before = topics.before("his BSN is 111222333", 11)
    before.near & topics.mask("bsn burgerservicenummer*")        # not 0: a word of that topic is near

A topic is named in `context_words.txt` (`@phone`), or is a list of words if a scheme has its own. Only the words
near a candidate are read: about 10 microseconds for those before it and 3 for those after it (measured 2026-11).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ...domain.work import spend
from ..text.scanner import Pattern, Scanner

_NEAR_BEFORE, _NEAR_AFTER = 64, 40  # characters in which a word counts: about ten words before, six after
# Letters between a word and a number: of one phrase ("passport, lautet seit letzter Woche ..."), and right together
# ("order number 17"). In UTF-8 bytes, so twice as many where letters take two.
_PHRASE, _TOUCHING = 40, 13
_NEXT = 18  # bytes after a number within which a word that belongs to the number ends: "17 nolu sipariş"
_SAME_PLACE = 24  # bytes in which words after a number are one expression
_GATED = "@phone"  # a topic that most texts have no word of and many numbers query: one scan answers all queries
_SPELLED = " d o b "  # the one word of single letters that `gate` leaves out
_SPELLED_WITHIN = b" o "  # however many signs part its letters
_FEWEST_LONG = 5  # digits of a long number
_LONG_NUMBER = re.compile(r"[0-9](?:[ .,:/()-]{0,2}[0-9]){4,}")
_NUMBER = re.compile(r"(?<![0-9])[0-9]{1,4}(?![0-9])")
# Four characters before a full stop, or it is an abbreviation's: "invoice no. 17".
# The character is matched first, and its condition after it, so that the search skips most of a text in one step.
_SENTENCE_END = re.compile(r"[.!?\n。！？](?:(?<=\w{4}[.!?])\s|(?<=\n)\s*\n|(?<=[。！？]))")
_PHRASE_END = re.compile(r"[.!?\n。！？](?:(?<=\w{4}[.!?])\s|(?<=[\n。！？]))")
# "Your account number?\n[10:17] Anna: Sure, it's 20481632": what a question asks for, its answer need not say again.
_ANSWER = re.compile(
    r"[?？؟][\s\"'»”)*_]{1,4}(?:[\[(][^\]\n)]{1,20}[\])] ?)?[-–—*>]?(?: ?[\w.-]{1,16}(?: [\w.-]{1,16})?: ?)?"
    r"(?P<said>[^\n?:;？؟]{0,28})\Z"
)
_WORDS_WORK = 60  # units of work: reads the words before a number
_LONGEST_ANSWER = 88  # characters up to the number, with who gives it
FARTHEST_BEFORE, FARTHEST_AFTER = max(_NEAR_BEFORE, _LONGEST_ANSWER), _NEAR_AFTER
"""Characters from a place beyond which nothing is read."""
_WORD = re.compile(r"\w{1,20}")
HAS_LETTER = re.compile("[A-Za-z?\x80-\U0010ffff](?<=[^\\W\\d_]|[?？؟])")
"""A letter or a question mark: without one near a place, there is neither a word nor a question. The first characters
make the search between numbers three times as fast."""
_DIGIT = re.compile("[0-9]")
_FIRST_RUN_TOGETHER = "\u3040"
_FIRST_NOT_KEPT = 0x3000  # letters from here on are too many to keep: Chinese, Korean
# Where Latin letters and those of a script that runs words together meet: "BIC는", "IP地址".
_SEAM = re.compile(
    "(?<=[a-z0-9])(?=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3])|(?<=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3])(?=[a-z])"
)
_NOT_LETTERS = re.compile(r"[\W_]+")
# ASCII: letters in lower case, digits as zeros, separators of long numbers as a space, anything else as a line break.
_TO_WORDS = bytes(
    ord(c.lower()) if c.isalpha() else 48 if c.isdigit() else 32 if c in " .,:/()-" else 10
    for c in map(chr, range(128))
).ljust(256, b"\n")
_LONG_IN_WORDS = re.compile(rb"0(?: {0,2}0){4,}")
"""`_LONG_NUMBER` there."""
_TO_CASE = bytes(65 if 65 <= byte <= 90 else 32 for byte in range(256))
"""Translation table of ASCII: every capital letter becomes A, every other character a space."""


class WordsBefore(NamedTuple):
    """Topics before a place, as bits."""

    near: int
    """Anywhere before it."""
    phrase: int
    """In the same phrase, with no long number between."""
    touching: int
    """Right before it, with no other number between."""
    closest: int
    """The last one, at any distance; 0 if absent."""
    scale: int
    """Bytes that a letter takes there."""


class WordsAfter(NamedTuple):
    """Topics after a place, as bits."""

    near: int
    """Anywhere after it."""
    first: int
    """The first one; 0 if absent."""
    following: int
    """Directly after it."""


_NOTHING_BEFORE, _NOTHING_BEHIND = WordsBefore(0, 0, 0, 0, 1), WordsAfter(0, 0, 0)


@cache
def named_topics() -> dict[str, list[str]]:
    """Topic -> its words, as `context_words.txt` has them."""
    topics: dict[str, list[str]] = {}
    for line in (Path(__file__).parent / "context_words.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, words = line.partition(":")
            topics.setdefault(name, []).extend(words.split())
    return topics


class Topics:
    """A set of topics.

    Args:
        specs: each a `@name` of the file, or words separated by spaces.
    """

    def __init__(self, specs: Iterable[str]) -> None:
        self._masks = {spec: 1 << index for index, spec in enumerate(sorted(set(specs)))}
        self._far = ~self._masks.get("@order", 0)  # "order" supports the next number in its own sentence only
        masks: dict[str, int] = {}
        self._capitals: dict[str, int] = {}
        for spec, mask in self._masks.items():
            for word in named_topics()[spec[1:]] if spec.startswith("@") else spec.split():
                if word.isupper() and len(word) > 1:
                    self._capitals[word] = self._capitals.get(word, 0) | mask
                else:
                    literal = _literal(word)
                    masks[literal] = masks.get(literal, 0) | mask
        letters = "".join(sorted(set("".join(self._capitals))))
        self._in_capitals = re.compile(rf"[{letters}]{{2,{max(map(len, self._capitals), default=2)}}}(?![^\W\d_])")
        order = self._masks.get("@order", 0)
        order_words = tuple(
            word if _has_no_spaces(word) else f" {word}"
            for word in (literal.strip() for literal, mask in masks.items() if mask & order)
        )
        self._whole = 1 << len(self._masks)
        """Marks an expression that ends with a word of `@order` but has another meaning: "taxpayer reference"."""
        self._no_order = ~(order | self._whole)
        self._mask_of = [
            mask if mask & order or not literal.rstrip().endswith(order_words) else mask | self._whole
            for literal, mask in masks.items()
        ]
        self._gated = self._masks.get(_GATED, 0)
        self._gate_scanner = Scanner([gate(_GATED)]) if self._gated else None
        self._scanner = Scanner([Pattern(_escaped(literal), has_start=False, has_case=True) for literal in masks])

    def mask(self, *specs: str) -> int:
        """Return the combined bits of these topics."""
        return sum({self._masks[spec] for spec in specs})

    def possible_topics(self, text: str) -> int:
        """Return the bits of all topics, except those of `_GATED` without a word in `text`."""
        if self._gate_scanner is None or not text.isascii() or self._gate_scanner.scan_bytes(text.encode()):
            return -1
        return ~self._gated

    def has_word(self, text: str) -> bool:
        """Return whether `text` contains a word of a topic."""
        return bool(self._scanner.scan_bytes(_folded(text))) or bool(self._written_in_capitals(text, 0, len(text)))

    def before(self, text: str, start: int) -> WordsBefore:
        """Return the topics before `text[start]`.

        A question before the number is ignored if a word directly before the number belongs to a topic.
        """
        if HAS_LETTER.search(text, max(0, start - _LONGEST_ANSWER), start) is None:
            return _NOTHING_BEFORE
        before = self._read_before(text, start)
        if before.touching or (asked := _question(text, start)) is None:
            return before
        return self._read_before(asked, len(asked))

    def _read_before(self, text: str, start: int) -> WordsBefore:
        spend(_WORDS_WORK)
        first = max(0, start - _NEAR_BEFORE)
        if first and text[first - 1].isalnum() and (half := _WORD.match(text, first, start)):
            first = half.end()  # omit a word that the window cuts
        folded, sentence = _before(text[first:start])
        hits = [(place, self._mask_of[word]) for place, _, word in self._scanner.scan_bytes(folded)]
        if capitals := [word for word in self._written_in_capitals(text, first, start + 1) if word.end() <= start]:
            hits = sorted([*hits, *self._placed(text, first, capitals)])
        scale = 1 if folded.isascii() else 2
        if not hits:
            return WordsBefore(0, 0, 0, 0, scale)
        near = phrase = touching = closest = closest_at = 0
        here, last_digit = len(folded), folded.rfind(b"0")
        phrase_from = max(here - _PHRASE * scale, folded.rfind(b"00000") + 1)
        touching_from = max(here - _TOUCHING * scale, last_digit + 1)
        for place, mask in hits:
            if place <= sentence or place <= last_digit:
                mask &= self._far
                if not mask:
                    continue
            near |= mask
            if place >= phrase_from:
                phrase |= mask
                if place >= touching_from:
                    touching |= mask
            # Topics know the same word by more or less of it: "codice fiscal", "codice fiscale ".
            is_same = place == closest_at or (
                folded[closest_at - 1 : closest_at] != b" " and folded.find(b" ", closest_at, place - 1) < 0
            )
            closest = mask | (closest if is_same else 0)
            closest_at = place
        if near & self._whole:
            near, phrase, touching = near & ~self._whole, phrase & ~self._whole, touching & ~self._whole
            if closest & self._whole:
                closest, touching = closest & self._no_order, touching & self._no_order
        return WordsBefore(near, phrase, touching, closest, scale)

    def behind(self, text: str, end: int, scale: int) -> WordsAfter:
        """Return the topics from `text[end]` on.

        Args:
            scale: bytes that a letter takes there.
        """
        if HAS_LETTER.search(text, end, end + _NEAR_AFTER) is None:
            return _NOTHING_BEHIND
        phrase_end = _PHRASE_END.search(text, end, end + _NEAR_AFTER)
        folded = _folded(text[end : phrase_end.start() if phrase_end else end + _NEAR_AFTER])
        hits = [(place, self._mask_of[word]) for place, _, word in self._scanner.scan_bytes(folded)]
        if capitals := self._written_in_capitals(text, end, end + _NEAR_AFTER):
            hits = sorted([*hits, *self._placed(text, end, capitals)])
        near = following = first = first_at = 0
        for place, mask in hits:
            mask &= ~self._whole
            near |= mask
            if place < _NEXT * scale:
                following |= mask
            if not first or place <= first_at + _SAME_PLACE:
                first |= mask
                first_at = first_at or place
        return WordsAfter(near, first, following)

    def _written_in_capitals(self, text: str, first: int, last: int) -> list[re.Match[str]]:
        window = text[first:last]
        if window.isascii() and window.encode().translate(_TO_CASE).find(b"AA") < 0:
            return []
        return [
            word
            for word in self._in_capitals.finditer(text, first, last)
            if word.group() in self._capitals and not text[word.start() - 1 : word.start()].isalpha()
        ]

    def _placed(self, text: str, first: int, words: Iterable[re.Match[str]]) -> Iterator[tuple[int, int]]:
        """Yield the offset in the folded text after each of these words, and its bits."""
        return ((len(_folded(text[first : word.end()])), self._capitals[word.group()]) for word in words)


def _question(text: str, start: int) -> str | None:
    """Return the question that `text[start:]` answers, and the answer before it; None if it answers no question."""
    first = max(0, start - _LONGEST_ANSWER)
    # Asked of every number, and nearly every text has no question mark there.
    if text.find("?", first, start) < 0 and text.find("？", first, start) < 0 and text.find("؟", first, start) < 0:
        return None
    answer = _ANSWER.search(text, first, start)
    if answer is None:
        return None
    end = answer.start()
    return f"{text[max(0, end - _NEAR_BEFORE) : end]}? {answer['said']}"


def _before(text: str) -> tuple[bytes, int]:
    """Return the folded text before a place, and the offset of its last sentence."""
    end = 0
    for match in _SENTENCE_END.finditer(text):
        end = match.end()
    earlier = _folded(text[:end]) if end else b""
    return earlier + _folded(text[end:]), len(earlier)


def _folded(text: str) -> bytes:
    """Return `text` as `fold` does, in UTF-8. ASCII texts take a shorter path."""
    if not text.isascii():
        return fold(text).encode("utf-8", "surrogatepass")
    words = text.encode().translate(_TO_WORDS)
    if digits := words.count(b"0"):
        if digits >= _FEWEST_LONG:
            words = _LONG_IN_WORDS.sub(b"\1", words)
        words = words.replace(b"00", b"0").replace(b"00", b"0").replace(b"0", b" 0 ").replace(b"\1", b" 00000 ")
    return b" %b " % b" ".join(words.split())


def fold(text: str) -> str:
    """Return the words in lower case without accents, separated by one space; digits are zeros, punctuation is removed.

    A number of five digits or more is five zeros, another one.
    """
    text = text.lower()
    if _DIGIT.search(text):
        text = _NUMBER.sub(" 0 ", _LONG_NUMBER.sub(" 00000 ", text))
    if text and max(text) >= _FIRST_RUN_TOGETHER:
        text = _SEAM.sub(" ", text)
    return " ".join(["", *text.translate(_FOLDS).split(), ""])


class _Folds(dict[int, str]):
    """Maps a lower-case character to its folded form: the character without accents, or a space."""

    def __missing__(self, code: int) -> str:
        base = [each for each in unicodedata.normalize("NFD", chr(code)) if not unicodedata.combining(each)]
        folded = _NOT_LETTERS.sub(" ", "".join(base).replace("ı", "i"))
        if code < _FIRST_NOT_KEPT:
            self[code] = folded
        return folded


_FOLDS = _Folds()


def _literal(word: str) -> str:
    """Return the folded form of a word of the table."""
    core = fold(word.strip("*").replace("_", " ")).strip()
    return (
        ("" if word.startswith("*") or _has_no_spaces(core) else " ")
        + core
        + ("" if word.endswith("*") or _has_no_spaces(core) else " ")
    )


def gate(topic: str) -> Pattern:
    """Found in every text of ASCII in which a word of a named topic may stand, or begin, but for `may_be_spelled`."""
    literals = {_literal(word) for word in named_topics()[topic[1:]]} - {_SPELLED}
    parts = [(literal[0] == " ", re.findall("[a-z]+", literal)) for literal in sorted(literals) if literal.isascii()]
    return Pattern(
        "|".join(("(?:^|[^a-z])" if is_whole else "") + "[^a-z]+".join(letters) for is_whole, letters in parts),
        is_once=True,
    )


def may_be_spelled(words: bytes) -> bool:
    """Return whether a text of ASCII may hold "D. O. B."; single letters would cost the scanner more than all words.

    Args:
        words: the text as `Words.folded` has it.
    """
    return _SPELLED_WITHIN in words


def _has_no_spaces(word: str) -> bool:
    """Return whether the script has no spaces between words: Chinese, Japanese, Korean, Thai."""
    return any("\u0e00" <= c <= "\u0e7f" or "\u3040" <= c <= "\u9fff" or "\u1100" <= c <= "\u11ff" for c in word)


def _escaped(literal: str) -> str:
    return "".join(c if c.isalnum() or c == " " or not c.isascii() else f"\\{c}" for c in literal)
