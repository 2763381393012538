"""Detects the languages of a text: by script, by common words, by letters that few languages have. Uses no model.

Policy depends on the result: a text in a language in which names can be found may leave, any other stays on-prem. So
errors must be on the safe side. The result is `und` if a part is undetermined. A word in another script counts. A
passage in another language counts from a few of its common words on. A short text that could be in two languages is in
both.

    languages("Please confirm the transfer")            # {"en"}
    languages("Bitte bestätigen Sie die Überweisung")   # {"de"}
    languages("4111 1111")                              # {"zxx"}: nothing linguistic

Codes are ISO 639-1, or 639-2 for languages without such a code. The tables are in `stop_words` and `scripts`. This
module only counts, over UTF-8 bytes, which is several times faster than over characters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import repeat

from ..text.words import TO_WORDS
from .scripts import LATIN_ONLY, Scripts, scripts_in
from .stop_words import (
    BALLOTS,
    EXPECTED,
    GROUP_OF,
    GROUPS,
    GROUPS_IN,
    HEAD_START,
    LANGUAGES,
    LETTER_BALLOTS,
    OWN_LETTER,
    OWN_LETTERS,
    OWN_WORD,
    WORD,
    points,
)

UNKNOWN = "und"  # ISO 639-2: undetermined
NONE = "zxx"  # ISO 639-2: no linguistic content

# What part of a text's words must speak for its language, as everyday words or by a letter of its own. About half of
# what the poorest twentieth of treebank sentences has (measured 2026-11): English has most, agglutinating languages
# have few short words.
_SHARE = {"en": 0.2, "de": 0.15, "es": 0.2, "fr": 0.2, "it": 0.15, "pt": 0.2, "nl": 0.15, "id": 0.1, "pl": 0.1}
_SHARE_OF_OTHERS = 0.07

_WINDOW = 24  # words; a passage in another language is at least a sentence
_FOREIGN_HITS = 4  # everyday words that the text's own language has not
_OWN_LETTERS = 6  # of another language: a sentence of Polish or Turkish has eight
_STRANGE_RUN = 20  # consecutive words of an unknown language: the language of that passage is undetermined
_EMBEDDED = 0.3  # fraction of words that may be unknown Latin words: product names, abbreviations

# Votes of a text are one string with a character a word, its group's number: counting and searching it is done in C.
_VOTE_OF = {word: chr(group) for word, group in GROUP_OF.items()}
_NO_VOTE = chr(0)
# The same as bytes, where those of some groups are taken out in one step; the few rarest groups have no byte.
_VOTES_FOR = {
    language: bytes(sorted(group for group in groups if group < 256)) for language, groups in GROUPS_IN.items()
}
_SPEAKER = {group: language for group, (language, *others) in enumerate(GROUPS[1:], 1) if not others}
_FOR_SEVERAL = bytes(group for group in range(256) if group not in _SPEAKER)
_NOT_TELLING = bytes(group for group in range(256) if not 1 <= len(GROUPS[group]) <= 6)
_MOST_ADVANTAGE = max(EXPECTED.values())

_NO_LETTER = re.compile(f"[^{''.join(LETTER_BALLOTS)}]+")
# Bytes of words as an `l` for those that begin a Latin one: all before the lead byte of Greek.
_LEADS = bytes(32 if byte == 32 else 108 if byte < 0xCE else 120 for byte in range(256))
_ALONE = {"cyrillic": "ru", "arabic": "ar"}  # assumed language of a few unknown words in a script
_FEW_WORDS = 4

_ASCII = bytes(range(128))
_UNMARKED = Counter[str]()
# Non-ASCII punctuation next to words, by its first byte. A missing sign hides only a word or two.
_MARKS = {
    lead: tuple(mark.encode() for mark in marks)
    for lead, marks in ((b"\xe2\x80", "’“”„—"), (b"\xc2", "\u00a0«»"), (b"\xd8", "،؛؟"))
}


def languages(text: str) -> frozenset[str]:
    """Return the languages of `text`: includes `und` if a part is undetermined, and is only `zxx` without words."""
    if text.isascii():
        return languages_of(text.encode().translate(TO_WORDS).split())
    data = text.encode("utf-8", "surrogatepass")
    scripts = scripts_in(data, text)
    for lead, marks in _MARKS.items():
        if lead in data:
            for mark in marks:
                data = data.replace(mark, b" ")
    marked = Counter(_NO_LETTER.sub("", data.translate(None, _ASCII).decode("utf-8", "ignore")))
    folded = b" " + data.translate(TO_WORDS)
    return _told(folded.split(), folded.translate(_LEADS).count(b" l"), scripts, marked)


def languages_of(words: Sequence[bytes]) -> frozenset[str]:
    """Return the languages of the words of an ASCII text, as returned by `Words.outside`."""
    return _told(words, len(words), LATIN_ONLY, _UNMARKED)


def _told(words: Sequence[bytes], latin: int, scripts: Scripts, marked: Counter[str]) -> frozenset[str]:
    """Return the languages by words, the number of Latin words, scripts, and letters with marks."""
    found = set(scripts.languages)
    if scripts.is_strange:
        found.add(UNKNOWN)
    if words:
        votes = "".join(map(_VOTE_OF.get, words, repeat(_NO_VOTE)))
        if len(scripts.families) == 1 and latin in (0, len(words)) and (plain := _of_most(votes, marked.total())):
            found.add(plain)
        else:
            counts = _counted(votes.replace(_NO_VOTE, ""))
            letters = sum([LETTER_BALLOTS[letter] * number for letter, number in marked.items()])
            ballots = HEAD_START + letters + sum([BALLOTS[group] * number for group, number in counts.items()])
            for script in scripts.families:
                in_script = latin if script == "latin" else len(words) - latin
                if script == "latin" and latin <= _EMBEDDED * len(words) and not _is_substantial(ballots):
                    continue
                found |= _guess(script, counts, ballots, letters, in_script)
        if own := marked.keys() & OWN_LETTERS.keys():
            found |= _by_own_letters(marked, own)
        if len(words) >= _STRANGE_RUN:
            found |= _other_passages(votes, found)
        if not found and scripts.families:
            found.add(UNKNOWN)
    return frozenset(found or {NONE})


def _of_most(votes: str, letters: int) -> str | None:
    """Return the language with more distinctive words than all others have words; most texts have one.

    Returns the same as `_guess` for a text in one script, without counting.

    Args:
        letters: that speak for some language, and may all speak for another.
    """
    known = votes.encode("latin-1", "ignore")
    own = known.translate(None, _FOR_SEVERAL)
    if not own:
        return None
    group = own[len(own) // 2]
    language = _SPEAKER[group]
    hits = len(known) - len(known.translate(None, _VOTES_FOR[language]))
    if hits < _SHARE.get(language, _SHARE_OF_OTHERS) * len(votes):
        return None
    others = len(votes) - votes.count(_NO_VOTE) - hits
    ahead = OWN_WORD * (own.count(group) - others)
    return language if ahead > _MOST_ADVANTAGE + OWN_LETTER * letters else None


def _counted(votes: str) -> dict[int, int]:
    """Number of words by group; counted letters are removed, so that the next count is shorter."""
    counts = {}
    while votes:
        rest = votes.replace(votes[0], "")
        counts[ord(votes[0])] = len(votes) - len(rest)
        votes = rest
    return counts


def _guess(script: str, counts: Mapping[int, int], ballots: int, letters: int, in_script: int) -> set[str]:
    """Return the languages of the words in one script (`in_script` in all); several if they cannot be distinguished.

    Args:
        ballots: everything that speaks for a language.
        letters: what of it comes from letters.
    """
    scores = points(ballots, script)
    top = max(scores)
    if top < WORD:
        return {_ALONE.get(script, UNKNOWN) if 0 < in_script <= _FEW_WORDS else UNKNOWN}
    best = [place for place, score in enumerate(scores) if score == top]
    if script != "latin":
        del best[1:]  # the table's order: Russian before its neighbours
    found: set[str] = set()
    for place in best:
        language = LANGUAGES[script][place]
        by_letters = points(letters, script)[place] / WORD if letters else 0
        hits = by_letters + sum(map(counts.__getitem__, GROUPS_IN[language].intersection(counts)))
        found.add(language if hits >= _SHARE.get(language, _SHARE_OF_OTHERS) * in_script else UNKNOWN)
    return found


def _is_substantial(ballots: int) -> bool:
    """Return whether a few Latin words among others are a sentence, and no product names."""
    return max(points(ballots, "latin")) >= (_FOREIGN_HITS + 1) * WORD


def _by_own_letters(marked: Counter[str], own: Iterable[str]) -> set[str]:
    """Languages of which the text has several letters that no other language here has."""
    number = Counter[str]()
    for letter in own:
        number[OWN_LETTERS[letter]] += marked[letter]
    return {language for language, letters in number.items() if letters >= _OWN_LETTERS}


def _other_passages(votes: str, found: set[str]) -> set[str]:
    """Return the languages of passages that differ from the language of the whole text."""
    more: set[str] = set()
    if _NO_VOTE * _STRANGE_RUN in votes and not found.isdisjoint(_SHARE):
        more.add(UNKNOWN)
    known = votes.encode("latin-1", "ignore")
    familiar = b"".join([_VOTES_FOR.get(language, b"") for language in found])
    telling = known.translate(None, _NOT_TELLING + familiar)
    if len(telling) + len(votes) - len(known) < _FOREIGN_HITS:
        return more
    counts = _counted(votes)
    foreign = _TELLING.intersection(counts).difference(*[GROUPS_IN.get(language, ()) for language in found])
    while sum(map(counts.__getitem__, foreign)) >= _FOREIGN_HITS:
        of = Counter[str]()
        for group in foreign:
            of.update(dict.fromkeys(GROUPS[group], counts[group]))
        suspect = max(of, key=lambda language: (of[language], language in EXPECTED, language))
        theirs = foreign & GROUPS_IN[suspect]
        if of[suspect] >= _FOREIGN_HITS and _has_passage(suspect, votes, theirs, found):
            more.add(suspect)
        foreign -= theirs
    return more


def _has_passage(suspect: str, votes: str, theirs: Set[int], found: set[str]) -> bool:
    """Return whether somewhere some of the suspect's words stand together, more than others."""
    places = sorted([place for group in theirs for place in _places(votes, chr(group))])
    for first, last in zip(places, places[_FOREIGN_HITS - 1 :], strict=False):
        if last - first >= _WINDOW:
            continue
        passage = list(map(ord, votes[first : last + 1]))
        others = sum([suspect not in GROUPS[group] and not found.isdisjoint(GROUPS[group]) for group in passage])
        own = sum([suspect in GROUPS[group] for group in passage])
        if own > others and own >= _SHARE.get(suspect, _SHARE_OF_OTHERS) * len(passage):
            return True
    return False


def _places(votes: str, vote: str) -> Iterator[int]:
    place = votes.find(vote)
    while place >= 0:
        yield place
        place = votes.find(vote, place + 1)


_TELLING = frozenset(number for number, group in enumerate(GROUPS) if 1 <= len(group) <= 6)
"""Groups of words that few languages share: only those count against a text's own language."""
