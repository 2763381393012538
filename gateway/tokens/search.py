r"""Finds tokens in text in the forms that models write: any case, and `_` escaped for markdown, HTML or JSON.

for found in find_tokens(text): ...    # a label and sixteen characters
for found in find_literals(text): ...  # also without a label: text of a user that must not become a value
search = TokenSearch({"IBAN"}, ids)    # for an answer: only tokens issued in its conversation

A token needs no spaces around it: Chinese has no spaces, and Arabic prefixes, markdown and inflections are attached.
A token in another case than the canonical one must not begin inside a Latin word, because otherwise half of
all words would end with the beginning of a label. If the model translated the label, the sixteen characters identify
the token, provided that they were issued.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from string import ascii_letters
from typing import NamedTuple

from ..domain.entities import LABELS
from .token import ALPHABET, ID_CHARACTERS, check_character

_EITHER_CASE = ALPHABET + ALPHABET[10:].lower()
_BODY = f"[{_EITHER_CASE}]"
# Backslashes of markdown, of JSON, and of markdown in JSON precede the underscore.
_ESCAPED = r"(?:&(?i:\#95|\#x5f|lowbar);|\\u005[fF])"
_UNDERSCORE = rf"(?:\\{{0,3}}_|{_ESCAPED})"
_UNDERSCORE_BEGUN = r"(?:\\{1,3}|\\u0{0,2}|\\u005|&|&\#(?:9|95|[xX]|[xX]5|[xX]5[fF])?|&(?i:l|lo|low|lowb|lowba|lowbar))"
PLAIN_ID = re.compile(rf"_({_BODY}{{{ID_CHARACTERS}}})")
_ESCAPED_ID = re.compile(rf"(?:_|{_ESCAPED})({_BODY}{{{ID_CHARACTERS}}})")
_BARE_END = re.compile("[^A-Za-z0-9]")
_BARE_BEGUN = re.compile(rf"_({_BODY}{{0,{ID_CHARACTERS}}})\Z")
_WORD = r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt]))"  # after a backslash the letter is a JSON escape and not part of the word
_MAX_LABEL = max(map(len, LABELS)) + 16  # characters, with the longest spelling of each underscore
_MAX_BEGUN = _MAX_LABEL + 9 + ID_CHARACTERS
_ENDING_IN = {end: [label for label in LABELS if label.endswith(end)] for end in {label[-2:] for label in LABELS}}
_MARK = re.compile(r"[_\\&]")  # first character of every spelling of an underscore


class Found(NamedTuple):
    """A possible token in a text."""

    start: int
    end: int
    id: str
    """The sixteen characters, upper case."""
    label: str | None
    """The label before them; None if it is unknown."""

    @property
    def token(self) -> str | None:
        """The canonical token; None without a label, or if the check character is wrong."""
        return f"{self.label}_{self.id}" if self.label is not None and self.is_sound else None

    @property
    def is_sound(self) -> bool:
        """The check character is correct."""
        return check_character(self.id[:-1]) == self.id[-1]


def find_tokens(text: str) -> Iterator[Found]:
    """Yield every label with sixteen characters in `text`, without overlaps."""
    return _found(text, _ANY_LABEL, is_bare_wanted=False)


def find_literals(text: str) -> Iterator[Found]:
    """Yield everything in `text` that a restorer could read as a token, for any issued labels; without overlaps."""
    return _found(text, _ANY_LABEL, is_bare_wanted=True)


def _found(text: str, label_end: re.Pattern[str], *, is_bare_wanted: bool) -> Iterator[Found]:
    position = at = 0
    pattern = id_pattern(text)
    while (match := pattern.search(text, at)) is not None:
        at = match.start()
        labels = _ENDING_IN.get(text[at - 2 : at], ())
        found = _labelled(text, match, position, labels, label_end) or (_bare(text, match) if is_bare_wanted else None)
        if found is None or (found.label is None and not found.is_sound):
            at += 1
            continue
        yield found
        position = at = found.end


def id_pattern(text: str) -> re.Pattern[str]:
    """Return the pattern for sixteen characters after an underscore; a faster one if `text` contains no escapes."""
    return _ESCAPED_ID if "&" in text or "\\u005" in text else PLAIN_ID


def _labelled(
    text: str, match: re.Match[str], position: int, labels: Iterable[str], label_end: re.Pattern[str]
) -> Found | None:
    at = match.start()
    for plain in labels:  # canonical spelling, the common case
        if text.endswith(plain, position, at):
            return Found(at - len(plain), match.end(), match.group(1).upper(), plain)
    label = label_end.search(text, max(position, at - _MAX_LABEL), at)
    if label is None:
        return None
    name = re.sub(_UNDERSCORE, "_", label.group(1)).upper()
    return Found(label.start(), match.end(), match.group(1).upper(), name)


def _bare(text: str, match: re.Match[str]) -> Found | None:
    """Without a label the underscore must be plain, and the sixteen characters must end a word."""
    end = match.end()
    if text[match.start()] != "_" or (end < len(text) and not _BARE_END.match(text, end)):
        return None
    return Found(match.start(), end, match.group(1).upper(), None)


class TokenSearch:
    """Finds issued tokens, and their beginnings at the end of the text so far.

    Args:
        labels: labels of the issued tokens.
        ids: their sixteen characters.
    """

    def __init__(self, labels: Iterable[str], ids: Collection[str]) -> None:
        self._ids = ids
        self._labels = frozenset(labels)
        self._label_end, self._begun, self._words, self.last_letters = _compiled(self._labels)

    def begun_in_letters(self, text: str, before: str) -> int:
        r"""Return `begun` for text without `_`, `\` and `&` after `before`, which contains none of them either."""
        word = text.rpartition(" ")[2]
        if not word or (word.islower() and word not in self._words and word.isalpha() and word.isascii()):
            return len(text)  # the common case
        word = word[len(word.rstrip(ascii_letters)) :]
        start = len(text) - len(word)
        last = text[start - 1 : start] or before[-1:]
        if word.lower() in self._words and not (last.isascii() and last.isalnum()):
            return start
        if word[-1:].isupper():  # canonical tokens may also begin inside a word
            for at in range(max(start, len(text) - _MAX_LABEL), len(text)):
                if text[at:].isupper() and text[at:].lower() in self._words:
                    return at
        return len(text)

    def is_begun(self, text: str) -> bool:
        """Return whether all of `text` is the beginning of a canonical token, including its label."""
        label, _, body = text.rpartition("_")
        return label in self._labels and len(body) < ID_CHARACTERS and not body.strip(ALPHABET)

    def first(self, text: str, position: int, pattern: re.Pattern[str], *, is_end: bool) -> Found | None:
        """Return the first token, or possible token, that begins at `position` or later.

        Args:
            pattern: `id_pattern(text)`.
            is_end: no text follows.
        """
        at = position
        while (match := pattern.search(text, at)) is not None:
            found = _labelled(text, match, position, self._labels, self._label_end)
            if found is None and match.group(1).upper() in self._ids and (is_end or match.end() < len(text)):
                found = _bare(text, match)
            if found is not None:
                return found
            at = match.start() + 1
        return None

    def begun(self, text: str, position: int) -> int:
        """Return the start of a token's beginning at the end of `text`; the length of `text` otherwise."""
        first = max(position, len(text) - _MAX_BEGUN)
        before = text[max(0, first - 2) : first]
        mark = _MARK.search(text, first - len(before))
        if mark is None:
            return first + self.begun_in_letters(text[first:], before)
        letters = text[first : mark.start()]  # the last of them may belong to a label; text before them does not
        begun = self._begun.search(text, first + len(letters.rstrip(ascii_letters)))
        start = begun.start() if begun is not None else len(text)
        bare = _BARE_BEGUN.search(text, max(position, len(text) - ID_CHARACTERS - 1))
        if bare is not None and bare.start() < start:
            body = bare.group(1).upper()
            if any(each.startswith(body) for each in self._ids):
                start = bare.start()
        return start


@lru_cache(256)
def _compiled(labels: frozenset[str]) -> tuple[re.Pattern[str], re.Pattern[str], frozenset[str], frozenset[str]]:
    """Return patterns for tokens with these labels: the end of a label, every beginning, beginnings of words, and
    their last letters."""
    ordered = sorted(labels)
    begun = "|".join(map(_begun_pattern, ordered)) or "(?!)"
    words = {label.split("_")[0][:end].lower() for label in ordered for end in range(1, len(label) + 1)}
    return (
        _label_end_pattern(ordered, is_word=True),
        re.compile(rf"(?:{_WORD}(?i:{begun})|(?:{begun}))\Z", re.ASCII),
        frozenset(words),
        frozenset(letter for word in words for letter in (word[-1], word[-1].upper())),
    )


def _label_end_pattern(labels: Iterable[str], *, is_word: bool) -> re.Pattern[str]:
    written = "|".join(label.replace("_", _UNDERSCORE) for label in labels) or "(?!)"
    any_case = f"{_WORD}(?i:{written})|{written}" if is_word else f"(?i:{written})"
    return re.compile(rf"({any_case})\\{{0,3}}\Z", re.ASCII)  # ASCII: the Kelvin sign does not match K


def _begun_pattern(label: str) -> str:
    """Return a pattern for every proper beginning of a token of this label, of at least one character."""
    rest = f"{_BODY}{{0,{ID_CHARACTERS - 1}}}"
    for character in reversed(label + "_"):
        rest = rf"(?:{_UNDERSCORE}(?:{rest})?|{_UNDERSCORE_BEGUN})" if character == "_" else f"{character}(?:{rest})?"
    return rest


_ANY_LABEL = _label_end_pattern(LABELS, is_word=False)
