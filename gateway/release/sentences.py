"""Splits streamed text into sentences. Pure and incremental; the sentences joined are the text.

- A sentence ends after its end mark (Latin, Cyrillic, Greek, Arabic, Urdu, Devanagari, Chinese, Japanese, Ethiopic,
  Khmer, Burmese), closing characters (quotes, brackets, markdown) and citation marks. Citation marks may also precede
  the end mark. White space after these belongs to the sentence.
- It also ends with a paragraph, list item, heading or table row. A fenced code block is one sentence.
- If the next character decides, the split waits for it, so it does not depend on the chunks.
- Unclear cases are not split: "Plan B. Next" is one sentence.

    sentences = Sentences()
    sentences.feed("It costs 3.5 %. [1] Dr")      # ["It costs 3.5 %. [1] "]
    sentences.feed(". Who")                       # []
    sentences.flush()                             # ["Dr. Who"]
"""

from __future__ import annotations

import re

# End marks that a space must follow, and those of scripts without spaces.
_SOFT_END = ".!?…؟۔"
_HARD_END = "。！？｡।॥።፧፨។៕။"
_CANDIDATE = re.compile(f"[{re.escape(_SOFT_END + _HARD_END)}\n]")
_END_MARKS = re.compile(f"[{re.escape(_SOFT_END + _HARD_END)}]+[\"'”’»›)\\]}}】」』）*_`]*")
_SPACE = re.compile(r"[ \t\r\u00a0\u3000]*")
_ANY_SPACE = re.compile(r"[ \t\r\n\u00a0\u3000]*")

_LONGEST_MARK = 64  # characters of one citation mark, brackets included
_LONGEST_LINK = 500  # characters of the address after a mark
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
_LONGEST_BLOCK = 6  # characters that identify the start of a block
_FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})")
_BEGUN_FENCE = re.compile(r"[ \t]{0,3}(?:`{0,2}|~{0,2})\Z|[ \t]{0,3}(?:`+|~+)\Z")
_LIST_NUMBER = re.compile(r"(?:^|\n)[ \t]*\d{1,3}\Z")
_LAST_WORD = re.compile(r"[^\W_]+(?:\.[^\W_]+)*\Z")
_LONGEST_WORD = 24  # characters of an abbreviation
_LONGEST_ORDINAL = 2  # digits: days

# Abbreviations in lower case, without their last full stop. Single letters are initials, in any script. Collected from
# letters of banks and hospitals (2026-11).
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
    """Splits one text."""

    def __init__(self) -> None:
        self._buffer = ""
        self._searched = 0  # no sentence ends before this offset

    @property
    def held(self) -> int:
        """Number of characters of the incomplete sentence."""
        return len(self._buffer)

    def feed(self, text: str) -> list[str]:
        """Return the sentences that are complete after `text`."""
        self._buffer += text
        return self._cut(is_whole=False)

    def flush(self) -> list[str]:
        """Return the rest of the sentences, at the end of the text."""
        found = self._cut(is_whole=True)
        if self._buffer:
            found.append(self._buffer)
        self._buffer, self._searched = "", 0
        return found

    def force(self, keep: int) -> str:
        """Remove and return text up to a white space before the last `keep` characters; empty without one."""
        last = max(0, len(self._buffer) - keep)
        cut = max(self._buffer.rfind(" ", 0, last), self._buffer.rfind("\n", 0, last)) + 1
        taken, self._buffer = self._buffer[:cut], self._buffer[cut:]
        self._searched = max(0, self._searched - cut)
        return taken

    def _cut(self, *, is_whole: bool) -> list[str]:
        found, start = [], 0
        while (end := self._end(start, is_whole=is_whole)) is not None:
            found.append(self._buffer[start:end])
            start = self._searched = end
        self._buffer, self._searched = self._buffer[start:], max(0, self._searched - start)
        return found

    def _end(self, start: int, *, is_whole: bool) -> int | None:
        """Return the end of the sentence that begins at `start`; None until more text decides it."""
        text = self._buffer
        if self._searched <= start and not is_whole and _BEGUN_FENCE.match(text, start):
            return None  # a fence, or white space before one
        if (fence := _FENCE.match(text, start)) is not None:
            return self._fence_end(fence, is_whole=is_whole)
        candidate = _NEWLINE if _ROW.match(text, start) else _CANDIDATE
        while (match := candidate.search(text, self._searched)) is not None:
            at = match.start()
            judge = _line_end if match.group() == "\n" else _stop_end
            end = judge(text, start, at, is_whole=is_whole)
            if end is None:
                self._searched = at
                return None
            if end > 0:
                return end
            self._searched = -end
        self._searched = len(text)
        return None

    def _fence_end(self, fence: re.Match[str], *, is_whole: bool) -> int | None:
        text, mark = self._buffer, fence.group(1)
        closing = re.compile(rf"\n[ \t]{{0,3}}{re.escape(mark)}{re.escape(mark[0])}*[ \t]*(?=\n|\Z)")
        match = closing.search(text, max(fence.end(), self._searched))
        if match is None:
            self._searched = max(fence.end(), text.rfind("\n", fence.end()))
            return None
        after = _ANY_SPACE.match(text, match.end())
        assert after is not None
        if not is_whole and after.end() == len(text):
            self._searched = match.start()
            return None
        return after.end()


# Both return the end of the sentence, minus the offset where the search continues, or None until more text decides it.


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
    """Return whether a full stop ends an abbreviation, initial, ordinal (German `3. Mai`) or list number."""
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
