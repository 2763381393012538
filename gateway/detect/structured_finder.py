"""Finds identifiers with a form of their own: the scanner finds candidates; schemes, recognizers and words decide.

One scan of the text finds all candidates. Where letters and digits meet, a second scan of that window searches for the
forms of the schemes, which are too many for the whole text (20 microseconds for 2 KB, measured 2026-11). Dates are
searched for only in a text with a word about birth. Recognizers evaluate these candidates. The remaining digits are
evaluated by the schemes, then by the phone numbering plan, and then by the words before them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate

from ..domain.entities import EntityType
from ..domain.work import spend
from .context.surroundings import TextContext
from .context.topics import Topics, gate, may_be_spelled
from .findings.finding import Finding
from .numbers.digit_runs import START, DigitRun, Spans, runs_at
from .numbers.numeric_tables import is_in_dump
from .numbers.scheme_forms import FormRecognizer
from .numbers.scheme_numbers import NumberFinder
from .recognizers.birth_date import BirthDateRecognizer
from .recognizers.customer_numbers import ShortIdRecognizer
from .recognizers.document_numbers import DocumentFinder, series_start
from .recognizers.email_address import EmailRecognizer
from .recognizers.iban import IbanRecognizer
from .recognizers.ip_address import IpRecognizer
from .recognizers.passports_and_plates import PLATE_WORDS
from .recognizers.phone_number import PhoneFinder
from .recognizers.pins_and_codes import ShortCodeRecognizer
from .recognizers.recognizer import Recognizer
from .recognizers.secrets import SecretRecognizer
from .recognizers.unlabelled_passwords import UnlabelledPasswordRecognizer
from .schemes import FORMS, NUMBERS
from .text.scanner import Pattern, Scanner
from .text.view import NormalizedText

_TOPICS = ("order", "phone", "birth", "imei", "passport", "licence", "health", "card", "account", "identity", "tax")
_MORE_TOPICS = ("plate", "patient", "customer", "policy", "permit", "register")  # topics of `documents` only
# Where letters and digits meet. "in 2024" and "12 people" are prose: with a space between, the letter is a capital.
# Patterns with the same start are adjacent, because the scanner is then faster.
_MIXED = Pattern(
    "[A-Za-z][-.]?[0-9]|[A-Z](?: |·)[0-9]|[0-9](?:[-./]?[A-Za-z]| [A-Z][^A-Za-z])|[a-z]{2} [0-9]{2} [0-9]{4}",
    has_case=True,
)
_ANYWHERE = frozenset({EntityType.MAC, EntityType.SWIFT})  # letters and digits need not meet in these
_SHORTEST_CRYPTO = 26  # letters and digits, with nothing between
_FEWEST_UNSAID = 10  # digits in one group of a personal number without a word near it
_DIGIT = re.compile("[0-9]")
# Units of work, measured 2026-11.
_MIXED_WORK = 60  # a second scan, around letters next to digits
_TOGETHER = 32  # hits that are counted together
_HIT_WORK = 5  # a hit that a recognizer reads
_RUN_WORK, _GROUP_WORK = 8, 2  # a run of digits, and a group of one
_JUDGED_RUN_WORK = 40  # a run that may be an identifier
_BETWEEN = "\0"
_AROUND_MIXED = 48  # characters; more than half of the longest form lies between two such places


class StructuredFinder:
    """Finds identifiers that have a form of their own.

    Args:
        phone_regions: ISO 3166-1 countries whose national phone formats count.

    Raises:
        ValueError: a region that the phone number plan does not know.
    """

    def __init__(self, *, phone_regions: Sequence[str]) -> None:
        named = [f"@{topic}" for topic in (*_TOPICS, *_MORE_TOPICS)]
        near = {*(each for number in NUMBERS for each in number.near), *(each for form in FORMS for each in form.near)}
        self._topics = Topics([*named, *near])
        self._numbers = NumberFinder(NUMBERS, self._topics)
        self._phones = PhoneFinder(phone_regions, self._topics)
        self._documents = DocumentFinder(self._topics)
        crypto = [form for form in FORMS if form.entity_type is EntityType.CRYPTO]
        anywhere = [form for form in FORMS if form.entity_type in _ANYWHERE]
        mixed = [form for form in FORMS if form not in crypto and form not in anywhere]
        everywhere: list[Recognizer] = [
            EmailRecognizer(),
            IpRecognizer(),
            SecretRecognizer(),
            UnlabelledPasswordRecognizer(),
            ShortCodeRecognizer(),
            ShortIdRecognizer(),
            FormRecognizer(anywhere, self._topics),
        ]
        self._mixed = _Recognizers([IbanRecognizer(), FormRecognizer(mixed, self._topics)], last=self._documents)
        self._plain = _Recognizers(everywhere, START, _MIXED, PLATE_WORDS, gate("@birth"))
        self._crypto = _Recognizers([FormRecognizer(crypto, self._topics)])
        self._dates = _Recognizers([BirthDateRecognizer(self._topics)])
        rules = {*self._mixed.rules, *self._plain.rules, *self._crypto.rules, *self._dates.rules}
        rules |= {*self._phones.rules, *(number.rule for number in NUMBERS)}
        self._rules = sorted(rules)

    @property
    def rules(self) -> Sequence[str]:
        """Names of all rules."""
        return self._rules

    def find(self, view: NormalizedText, found: Sequence[Finding]) -> Iterable[Finding]:
        """Identifiers in `view`, possibly overlapping."""
        text = view.text
        context = TextContext(self._topics, text)
        mine, (runs, mixed, plates, births) = self._plain.find(text, context)
        if view.may_hold_run(_SHORTEST_CRYPTO):
            mine += self._crypto.find(text, context)[0]
        if (births or not text.isascii() or may_be_spelled(view.words.folded)) and _DIGIT.search(text):
            mine += self._dates.find(text, context)[0]
        mixed = sorted([*mixed, *plates]) if plates else mixed
        ours = view.tokens
        if ours:
            held = Spans(ours)
            mixed = [place for place in mixed if not held.contains(place, place + 1)]
        if mixed:
            spend(_MIXED_WORK + len(mixed) // 2)
            mine += self._mixed.find(text, context, _windows(mixed, len(text)))[0]
        if runs:
            taken = Spans([*ours, *((f.start, f.end) for f in (*found, *mine))])
            mine += self._in_runs(text, sorted(runs), taken, context)
        if not ours:
            return mine
        return [finding for finding in mine if not held.overlaps(finding.start, finding.end)]

    def _in_runs(self, text: str, places: Sequence[int], taken: Spans, context: TextContext) -> list[Finding]:
        found: list[Finding] = []
        for whole in runs_at(text, places, taken):
            spend(_RUN_WORK + _GROUP_WORK * len(whole.starts))
            if is_in_dump(whole, taken):
                continue
            international = self._phones.international(whole, context)
            if international is not None:
                found.append(international)
            for run in whole.without([international[:2]]) if international is not None else (whole,):
                found += self._in_run(run, context)
        return found

    def _in_run(self, run: DigitRun, context: TextContext) -> list[Finding]:
        is_silent = context.has_no_word_near(run.starts[0], run.ends[-1])
        if is_silent and len(run.starts) == 1 and run.lengths[0] < _FEWEST_UNSAID:
            return []
        spend(_JUDGED_RUN_WORK)
        numbers = [*self._numbers.find(run, context, is_silent=is_silent), *self._documents.in_own_form(run, context)]
        found = [_with_series(run.text, each) for each in numbers]
        is_card = any(each.entity_type is EntityType.CARD for each in numbers)
        if numbers and len(run.starts) > 1 and not is_silent and not is_card:
            # A card with a wrong check digit, of which a part is another number: all of it is masked.
            found += (each for each in self._documents.find(run, context) if each.entity_type is EntityType.CARD)
        for rest in run.without([(f.start, f.end) for f in numbers]) if numbers else (run,):
            phones = list(self._phones.find(rest, context))
            found += phones
            if is_silent:
                continue
            for piece in rest.without([(f.start, f.end) for f in phones]) if phones else (rest,):
                found += self._documents.find(piece, context)
        return found


def _with_series(text: str, finding: Finding) -> Finding:
    start = series_start(text, finding.start)
    return finding if start == finding.start else finding._replace(start=start)


class _Recognizers:
    """Recognizers and the scanner that points them to their places.

    Args:
        besides: patterns whose places are only noted.
        last: a recognizer that is called only for places without a match of the others.
    """

    def __init__(self, recognizers: Sequence[Recognizer], *besides: Pattern, last: Recognizer | None = None) -> None:
        recognizers = [*recognizers, last] if last else recognizers
        self._last = last
        self._places = [(each, index) for each in recognizers for index in range(len(each.patterns))]
        self._besides = len(besides)
        self._scanner = Scanner([*(pattern for each in recognizers for pattern in each.patterns), *besides])
        self.rules = {rule for each in recognizers for rule in each.rules}

    def find(
        self, text: str, context: TextContext, windows: Sequence[tuple[int, int]] = ()
    ) -> tuple[list[Finding], list[list[int]]]:
        """Return the findings in `text` or its `windows`, and the starts of the matches of each `besides` pattern."""
        found: list[Finding] = []
        noted: list[list[int]] = [[] for _ in range(self._besides)]
        postponed: list[tuple[int, int]] = []
        places, last_start = self._places, [-1] * (len(self._places) + self._besides)
        # One pass over all windows, with separators that no identifier contains.
        scanned = _BETWEEN.join([text[first:last] for first, last in windows]) if windows else text
        begins = [0, *accumulate(last + 1 - first for first, last in windows[:-1])]
        uncounted = 0
        for end, start, pattern in self._scanner.scan(scanned):
            if windows:
                window = bisect_left(begins, end) - 1
                start += windows[window][0] - begins[window]
            if last_start[pattern] == start:
                continue  # the same place, with another end
            last_start[pattern] = start
            if pattern >= len(places):
                noted[pattern - len(places)].append(start)
                continue
            uncounted += 1
            if uncounted == _TOGETHER:
                spend(_HIT_WORK * uncounted)
                uncounted = 0
            recognizer, index = places[pattern]
            if recognizer is self._last:
                postponed.append((start, index))
            elif (finding := recognizer.at(text, start, index, context)) is not None:
                found.append(finding)
        if self._last is not None and postponed:
            held = Spans((finding.start, finding.end) for finding in found)
            for start, index in postponed:
                if held.overlaps(start, start + 1):
                    continue
                if (finding := self._last.at(text, start, index, context)) is not None:
                    found.append(finding)
        return found, noted


def _windows(places: Sequence[int], length: int) -> list[tuple[int, int]]:
    """Yield the text around places where letters and digits are adjacent."""
    windows: list[tuple[int, int]] = []
    for place in places:
        start, end = max(0, place - _AROUND_MIXED), min(length, place + _AROUND_MIXED)
        if windows and start <= windows[-1][1]:
            windows[-1] = (windows[-1][0], end)
        else:
            windows.append((start, end))
    return windows
