"""Cuts text into sentences while it streams by. Pure, incremental; nothing is lost or changed.

A sentence ends with its end mark (Latin, Cyrillic, Greek, Arabic, Urdu, Devanagari, Chinese, Japanese, Ethiopic, Khmer,
Burmese), what closes behind it (quotes, brackets, markdown) and citation marks, whether these stand before or behind
the end mark. It also ends where a paragraph, list item, heading or table row does. A fenced block of code is one
sentence. White space behind belongs to it. Where the next character decides, it is waited for, so the cuts are the
same however the text arrives. Wrong cuts are rather too late than too early: "Plan B. Next" is not cut.

    sentences = Sentences()
    sentences.feed("It costs 3.5 %. [1] Dr")      # ["It costs 3.5 %. [1] "]
    sentences.feed(". Who")                       # []
    sentences.flush()                             # ["Dr. Who"]
"""

from __future__ import annotations

import re

# End marks behind which a space must follow, and those of scripts that put none.
_SOFT_END = ".!?…؟۔"
_HARD_END = "。！？｡।॥።፧፨។៕။"
_CANDIDATE = re.compile(f"[{re.escape(_SOFT_END + _HARD_END)}\n]")
_END_MARKS = re.compile(f"[{re.escape(_SOFT_END + _HARD_END)}]+[\"'”’»›)\\]}}】」』）*_`]*")
_SPACE = re.compile(r"[ \t\r\u00a0\u3000]*")
_ANY_SPACE = re.compile(r"[ \t\r\n\u00a0\u3000]*")

_LONGEST_MARK = 64  # characters of one citation mark, brackets included
_LONGEST_LINK = 500  # characters of an address behind a mark
MARK = re.compile(
    r"[\[【][ \t]*(?P<ids>\^?[\w.:#/-]{1,40}(?:[ \t]*[,;–-][ \t]*[\w.:#/-]{1,40}){0,9})[ \t]*[\]】]"
    rf"(?:\([^()\s]{{1,{_LONGEST_LINK}}}\))?"
)
"""A citation mark: `[1]`, `[1, 2]`, `[1-3]`, `【kb-7】`, `[2](https://...)`."""
_BEGUN_MARK = re.compile(rf"[\[【][^\[\]【】\n]{{0,{_LONGEST_MARK}}}\Z")
_BEGUN_LINK = re.compile(rf"(?:\([^()\s]{{0,{_LONGEST_LINK}}})?\Z")

_NEWLINE = re.compile("\n")
_ROW = re.compile(r"[ \t]{0,3}\|")
_BLOCK = re.compile(r"(?:[-*+•–] |\d{1,3}[.)] |#{1,6} |>|\||```|~~~)")
_LONGEST_BLOCK = 6  # characters that tell a block's beginning
_FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})")
_BEGUN_FENCE = re.compile(r"[ \t]{0,3}(?:`{0,2}|~{0,2})\Z|[ \t]{0,3}(?:`+|~+)\Z")
_LIST_NUMBER = re.compile(r"(?:^|\n)[ \t]*\d{1,3}\Z")
_LAST_WORD = re.compile(r"[^\W_]+(?:\.[^\W_]+)*\Z")
_LONGEST_WORD = 24  # characters; a longer word is no abbreviation
_LONGEST_ORDINAL = 2  # digits: days

# Words that a full stop follows without ending a sentence: lower case, without their last stop. Single letters are
# initials, in any script. Ours, from what letters of banks and hospitals use (2026-11).
_ABBREVIATIONS = frozenset(
    word
    for line in (
        "mr mrs ms dr prof sr jr st rev hon gen col capt lt vs etc approx dept vol eds cf al inc ltd corp tel ext",
        "jan feb mar apr jun jul aug sep sept oct nov dec e.g i.e a.m p.m u.s u.k",
        "bzw ca usw evtl ggf inkl zzgl abs abt str hr fr z.b d.h u.a o.ä v.a s.o bspw vgl mind tsd mio mrd",
        "mme mlle m.m env p.ex av bd apt réf sra srta dña ud uds pág núm p.ej ee.uu aprox",
        "ul os np itd itp tzn tj m.in wg zł hab inż mgr lek godz tys mln mld pkt ust zob",
        "т.е т.д т.п т.к т.н г гг ул д кв стр рис табл руб коп тыс млн млрд им см ср напр проф акад",
        "др пр просп обл пп",
        "jl hal tgl yth bpk dsb dll dst a.n d.a s.d u.p",
    )
    for word in line.split()
)
_BEFORE_NUMBERS = frozenset(("no", "nos", "nr", "art", "fig", "figs", "sec", "para", "cl", "pp", "n°", "ст"))


class Sentences:
    """Cuts one text."""

    def __init__(self) -> None:
        self._buffer = ""
        self._looked_at = 0  # no sentence ends before this place

    @property
    def held(self) -> int:
        """Characters that wait for the end of their sentence."""
        return len(self._buffer)

    def feed(self, text: str) -> list[str]:
        """The sentences that are whole now."""
        self._buffer += text
        return self._cut(is_whole=False)

    def flush(self) -> list[str]:
        """The end of the text: what is left."""
        found = self._cut(is_whole=True)
        if self._buffer:
            found.append(self._buffer)
        self._buffer, self._looked_at = "", 0
        return found

    def force(self, keep: int) -> str:
        """Take out what waits, up to a white space before the last `keep` characters; empty when there is none."""
        last = max(0, len(self._buffer) - keep)
        cut = max(self._buffer.rfind(" ", 0, last), self._buffer.rfind("\n", 0, last)) + 1
        taken, self._buffer = self._buffer[:cut], self._buffer[cut:]
        self._looked_at = max(0, self._looked_at - cut)
        return taken

    def _cut(self, *, is_whole: bool) -> list[str]:
        found, start = [], 0
        while (end := self._end(start, is_whole=is_whole)) is not None:
            found.append(self._buffer[start:end])
            start = self._looked_at = end
        self._buffer, self._looked_at = self._buffer[start:], max(0, self._looked_at - start)
        return found

    def _end(self, start: int, *, is_whole: bool) -> int | None:
        """Where the sentence that begins at `start` ends; None when that can't be told yet."""
        text = self._buffer
        if self._looked_at <= start and not is_whole and _BEGUN_FENCE.match(text, start):
            return None  # a fence, or white space before one
        if (fence := _FENCE.match(text, start)) is not None:
            return self._fence_end(fence, is_whole=is_whole)
        candidate = _NEWLINE if _ROW.match(text, start) else _CANDIDATE
        while (match := candidate.search(text, self._looked_at)) is not None:
            at = match.start()
            judge = _line_end if match.group() == "\n" else _stop_end
            end = judge(text, start, at, is_whole=is_whole)
            if end is None:
                self._looked_at = at
                return None
            if end > 0:
                return end
            self._looked_at = -end
        self._looked_at = len(text)
        return None

    def _fence_end(self, fence: re.Match[str], *, is_whole: bool) -> int | None:
        text, mark = self._buffer, fence.group(1)
        closing = re.compile(rf"\n[ \t]{{0,3}}{re.escape(mark)}{re.escape(mark[0])}*[ \t]*(?=\n|\Z)")
        match = closing.search(text, max(fence.end(), self._looked_at))
        if match is None:
            self._looked_at = max(fence.end(), text.rfind("\n", fence.end()))
            return None
        after = _ANY_SPACE.match(text, match.end())
        assert after is not None
        if not is_whole and after.end() == len(text):
            self._looked_at = match.start()
            return None
        return after.end()


# Both: where the sentence ends; else minus the place from which to look on; None when more of the text must come.


def _line_end(text: str, _start: int, at: int, *, is_whole: bool) -> int | None:
    space = _ANY_SPACE.match(text, at)
    assert space is not None
    after = space.end()
    if after == len(text):
        return after if is_whole else None
    if text.count("\n", at, after) > 1:
        return after
    if not is_whole and len(text) - after < _LONGEST_BLOCK:
        return None
    if _BLOCK.match(text, after) or not text[after].islower():
        return after
    return -after


def _stop_end(text: str, start: int, at: int, *, is_whole: bool) -> int | None:
    run = _END_MARKS.match(text, at)
    assert run is not None
    end, has_mark = run.end(), False
    while True:
        space = _SPACE.match(text, end)
        assert space is not None
        mark = MARK.match(text, space.end())
        if not is_whole and (_BEGUN_LINK.match(text, mark.end()) if mark else _BEGUN_MARK.match(text, space.end())):
            return None
        if mark is None:
            break
        end, has_mark = mark.end(), True
    space = _ANY_SPACE.match(text, end)
    assert space is not None
    following = space.end()
    if following == len(text):
        return following if is_whole else None
    if any(character in _HARD_END for character in run.group()):
        return following
    if following == end:
        return -run.end()
    if not has_mark and (
        text[following].islower() or (run.group()[0] == "." and _is_no_end(text, start, at, text[following]))
    ):
        return -run.end()
    return following


def _is_no_end(text: str, start: int, at: int, following: str) -> bool:
    """True for the full stop of an abbreviation, an initial, an ordinal (German `3. Mai`) or a list's number."""
    before = text[max(start, at - _LONGEST_WORD) : at]
    word = _LAST_WORD.search(before)
    if word is None:
        return False
    found = word.group().lower()
    if found.isdigit():
        return len(found) <= _LONGEST_ORDINAL or _LIST_NUMBER.search(before) is not None
    if found in _BEFORE_NUMBERS:
        return following.isdigit()
    return found in _ABBREVIATIONS or len(found.rpartition(".")[2]) == 1
