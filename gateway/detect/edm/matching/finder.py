"""Finds listed people, companies and numbers in a text.

`vocabulary` returns which words may be listed. Only the words around such a word are parsed (`word_run`). These count:

    a given name and a surname of one person, in either order, inflected, transliterated, with words between them
    a surname alone, when it is written as listed, no ordinary word and not half the list's
    otherwise with an initial, a title or role before it, or an account, birth date, ... of the same person nearby
    the words of a company, without its legal form

A finding's value is the sound of the name, so that all forms of one name have one value, and one token (see `tokens`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

from ....domain.entities import EntityType
from ...findings.finding import Finding
from ...names.non_names import is_common_word
from ...text.words import Words
from ..forms.keys import text_keys
from ..index.index import Index
from ..index.values import Values
from .candidates import REACH, Mark, marks_of
from .companies import company_in
from .joined_names import joined_word_runs
from .joint_names import givens_before
from .pairs import (
    are_prose,
    boundaries_of,
    is_at_sentence_start,
    is_name,
    is_phrase,
    joined,
    may_be_one,
    may_be_within,
    may_join,
    pairs_of,
)
from .surname_alone import SurnameAlone
from .titles import (
    GLUE,
    has_article_before,
    has_initial,
    has_title_after,
    is_addressed,
    is_after_name_part,
    is_titled,
    joined_word_before,
    word_before,
)
from .user_names import user_name_at
from .vocabulary import Listed, Vocabulary, folded
from .word_run import SIGNS, Token, WordRun, run_at

_SHORTEST_SUPPORTED = 3  # letters of a name next to another value of the same person
_TWO_SURNAMES = 2

SCORES = {"LISTED_PERSON": 0.95, "LISTED_SURNAME": 0.8, "LISTED_COMPANY": 0.9, "LISTED_NUMBER": 0.95}


class EdmFinder:
    """Finds what an index lists."""

    rules = tuple(SCORES)

    def __init__(self, index: Index) -> None:
        self.header = index.header
        """Header of the index: number of people, build time."""
        self._index = index
        self._vocabulary = Vocabulary(index)
        self._alone = SurnameAlone(index, self._vocabulary)

    def find(self, text_words: Words) -> Iterator[Finding]:
        """Yield the listed people, companies and numbers in a text."""
        text, index, vocabulary = text_words.text, self._index, self._vocabulary
        values = Values(
            text,
            index.supporting,
            strangers=vocabulary.strangers,
            add_stranger=vocabulary.add_stranger,
            has_addresses=index.has_addresses,
        )
        if index.has_values:
            yield from self._numbers(values)
        marks = marks_of(text_words, vocabulary)
        yield from self._glued(text, values)
        done = -1
        for place, (start, end, listed) in enumerate(marks):
            if start >= done and text[start].islower() and (user := self._user_name(text, start, end, listed)):
                done = user.end
                yield user
            if start < done or not self._is_worth_a_look(text, marks, place, values):
                continue
            for finding in self._around(text, start, end, listed, values):
                rest = _behind(text, finding, done)
                if rest is not None:
                    done = max(done, rest.end)
                    yield rest

    def _glued(self, text: str, values: Values) -> Iterator[Finding]:
        """Yield names written as one word, or letter by letter."""
        for run in joined_word_runs(text):
            known = [self._vocabulary.look_up(folded(token.text)) for token in run.tokens]
            is_known = any(is_name(*each) for each in permutations(known, 2))
            if is_known and (person := self._person(text, run, known, values)):
                yield person

    def _is_worth_a_look(self, text: str, marks: Sequence[Mark], place: int, values: Values) -> bool:
        """Return False, quickly, for most words that only sound like a listed one."""
        start, end, listed = marks[place]
        if listed.is_company:
            return True
        for following, _, other in marks[place + 1 : place + 5]:
            if following - end > REACH or not may_be_within(text[end:following]):
                break
            both = listed, other
            letters = text[start], text[following]
            if letters[0] in SIGNS or letters[1] in SIGNS:
                return True
            between = text[end:following]
            if (
                may_be_one(*both, *letters, values)
                and self._order(*both)
                and not are_prose(*both, *letters, values, between)
            ):
                return True
        if text[start].islower():
            if is_titled(text, start, listed) or self._is_after_given_name(text, start, listed):
                return True
            return bool(listed.alone) and values.is_lower
        if listed.alone or has_initial(text, start, end):
            return True
        if is_after_name_part(text, start) or has_article_before(text, start):
            return True
        if listed.exact_givens and has_title_after(text, end):
            return True
        if listed.is_common_word and is_at_sentence_start(text, start):
            return False
        return bool(values.near(start))

    def _is_after_given_name(self, text: str, start: int, listed: Listed) -> bool:
        """Return whether the word follows a given name that is also a common word: "kim harvey"."""
        if listed.is_common or not listed.exact:
            return False
        before = word_before(text, start) if text[start - 1 : start] not in GLUE else joined_word_before(text, start)
        given = self._vocabulary.look_up(folded(before))
        return given.is_common_word and self._index.has_pair(given.exact_givens, listed.exact)

    def _user_name(self, text: str, start: int, end: int, listed: Listed) -> Finding | None:
        if (span := user_name_at(text, start, end, listed, self._index, self._vocabulary)) is None:
            return None
        return _person(*span, self._sound(text[start:end]), "LISTED_SURNAME")

    def _around(self, text: str, start: int, end: int, listed: Listed, values: Values) -> Iterator[Finding]:
        run = run_at(text, start, end)
        known = [self._vocabulary.look_up(folded(token.text)) for token in run.tokens]
        if run.tokens[run.at].end != end:
            # A suffix after an apostrophe belongs to another language: the word is the part before it.
            own, whole = self._vocabulary.look_up(folded(text[start:end])), known[run.at]
            is_whole = whole.exact_givens or (whole.exact and whole.form <= own.form)
            if own.is_listed and not is_whole and text[end : end + 1] != "-":
                known[run.at] = own
                run.tokens[run.at] = Token(start, end, text[start:end], run.tokens[run.at].gap)
        if not known[run.at].is_listed:
            known[run.at] = listed
        person = self._person(text, run, known, values)
        if person is None or person.end <= start:
            person = self._surname(text, run, known[run.at], values)
        if person is not None:
            yield from self._joint(run, known, person)
        if places := company_in(run, known, self._index):
            value = " ".join(self._sound(run.tokens[place].text) for place in places)
            first, last = run.tokens[places[0]].start, run.tokens[places[-1]].end
            yield Finding(first, last, EntityType.ORG, SCORES["LISTED_COMPANY"], value, "LISTED_COMPANY")

    def _joint(self, run: WordRun, known: Sequence[Listed], person: Finding) -> Iterator[Finding]:
        """Yield a person, after the people with the same surname that "and" joins: "James and Mary Okafor"."""
        own = [place for place, token in enumerate(run.tokens) if person.start <= token.end <= person.end]
        surnames = [known[place] for place in own if known[place].surnames]
        if surnames and own:
            first, tokens = own[0], run.tokens
            if len(own) == 1 and first > 0 and tokens[first].gap == " " and tokens[first - 1].is_capital:
                first -= 1  # a given name that is not listed
            givens = list(givens_before(run, known, first, surnames[-1], self._is_joint))
            for place in reversed(givens):
                given, value = tokens[place], f"{self._sound(tokens[place].text)} {person.value.split()[-1]}"
                yield _person(given.start, given.end, value, "LISTED_PERSON")
            if givens:
                person = person._replace(start=tokens[first].start)
        yield person

    def _is_joint(self, given: Listed, surname: Listed) -> bool:
        is_name = bool(given.exact_givens) and not given.is_common_word
        return given.is_given or is_name or self._index.has_pair(given.exact_givens, surname.surnames)

    def _person(self, text: str, run: WordRun, known: Sequence[Listed], values: Values) -> Finding | None:
        """Two words of one person in this run, and what belongs to them."""
        surnames_only = None
        boundaries = boundaries_of(run)
        for candidates in pairs_of(run):
            named: dict[tuple[int, int], int] = {}
            for first, second in candidates:
                if self._is_taken(text, run, known, first, second):
                    continue
                if (
                    not (known[first].is_listed and known[second].is_listed)
                    or boundaries[first + 1] != boundaries[second]
                ):
                    continue
                letters = run.tokens[first].letter, run.tokens[second].letter
                is_third = letters[0].isupper() == letters[1].isupper() and any(first in pair for pair in named)
                both = known[first], known[second]
                if not (is_third or may_be_one(*both, *letters, values)):
                    continue
                order = self._order(*both)
                if (
                    order
                    and self._may_join(run, known, first, second, order)
                    and not is_phrase(text, run, known, first, second, given=first if order > 0 else second)
                    and (is_third or not are_prose(*both, *letters, values, _gap(run, first, second)))
                ):
                    named[first, second] = order
            if named:
                first, last = joined(list(named), run.at)
                (one, other), order = next(item for item in named.items() if first <= item[0][0] <= last)
                given, surname = (one, other) if order > 0 else (other, one)
                last = self._given_name_after(text, run, known, first, last)
                first, last = self._with_more_givens(run, known, first, last, known[surname])
                first, last = self._alone.with_particles(run, run.first_of(first, text), first), run.last_of(last, text)
                value = f"{self._sound(run.tokens[given].text)} {self._sound(run.tokens[surname].text)}"
                person = _person(run.tokens[first].start, run.end_of(last, text), value, "LISTED_PERSON")
                if any(order != _TWO_SURNAMES for order in named.values()):
                    return person
                surnames_only = surnames_only or person  # the given name may follow a comma
        return surnames_only

    def _is_taken(self, text: str, run: WordRun, known: Sequence[Listed], first: int, second: int) -> bool:
        """Return whether a pair across a separator would cut a name that is written in one part.

        In "Emil N. Kowalska, Peter J. Harwood" the list may contain a Peter Kowalska; Peter Harwood is written there.
        """
        if not any(token.is_separated for token in run.tokens[first + 1 : second + 1]):
            return False
        if first > 0 and run.is_initial(first - 1, text) and run.is_initial(second - 1, text):
            return True  # "P. Kowalska, S. Harwood"
        parts = [part for part in run.parts() if (first in part) != (second in part)]
        return any(self._has_name(run, known, part) for part in parts)

    def _has_name(self, run: WordRun, known: Sequence[Listed], part: range) -> bool:
        """Return whether two capitalized words of a part are the given name and the surname of one person."""
        return any(
            run.tokens[given].is_capital
            and run.tokens[surname].is_capital
            and self._index.has_pair(known[given].exact_givens, known[surname].exact)
            for given, surname in combinations(part, 2)
            if known[given].exact_givens and known[surname].exact
        )

    def _may_join(self, run: WordRun, known: Sequence[Listed], first: int, second: int, order: int) -> bool:
        """Return `may_join` for two names in either order; a surname may be followed by a comma."""
        if may_join(run, known, first, second, is_reversed=order < 0):
            return True
        is_either = order == 1 and run.tokens[first].is_caseless and run.tokens[second].is_separated
        return (
            is_either
            and self._index.has_pair(known[second].givens, known[first].surnames)
            and may_join(run, known, first, second, is_reversed=True)
        )

    def _following(self, text: str, token: Token) -> Iterator[Listed]:
        """Yield the words after a token up to the next separator; the run of another word may end before them."""
        run = run_at(text, token.start, token.end)
        for following in run.tokens[run.at + 1 :]:
            if following.is_separated:
                return
            yield self._vocabulary.look_up(folded(following.text))

    def _given_name_after(self, text: str, run: WordRun, known: Sequence[Listed], first: int, last: int) -> int:
        """Return the last token including the given name after a comma: "Trueba Arredondo, Maricruz"."""
        behind = last + 1
        if behind == len(run.tokens) or "," not in run.tokens[behind].gap or not run.tokens[behind].is_capital:
            return last
        given = known[behind]
        is_other = any(self._order(given, other) for other in self._following(text, run.tokens[behind]))
        is_own = not is_other and all(self._order(given, known[place]) == 1 for place in (first, last))
        return behind if is_own else last

    def _with_more_givens(
        self, run: WordRun, known: Sequence[Listed], first: int, last: int, surname: Listed
    ) -> tuple[int, int]:
        """Return the first and last token including other given names of the person: "ana" of "ana belén olmedo"."""
        while first > 0 and run.tokens[first].gap == " " and self._is_given_of(known[first - 1], surname):
            first -= 1
        while (behind := last + 1) < len(run.tokens) and run.tokens[behind].gap == " ":
            if not self._is_given_of(known[behind], surname):
                break
            last = behind
        return first, last

    def _is_given_of(self, given: Listed, surname: Listed) -> bool:
        return given.is_given and self._index.has_pair(given.exact_givens, surname.surnames)

    def _order(self, first: Listed, second: Listed) -> int:
        """Return 1 for a given name before a surname of the same person, -1 after it, 2 for two surnames, else 0."""
        has_pair = self._index.has_pair
        if first.givens and has_pair(first.givens, (*second.surnames, *second.givens)):  # the latter: a patronymic
            return 1
        if second.givens and has_pair(second.givens, first.surnames):
            return -1
        return _TWO_SURNAMES * has_pair(first.surnames, second.surnames)

    def _surname(self, text: str, run: WordRun, own: Listed, values: Values) -> Finding | None:
        """Return the word alone, if no listed part of its name is adjacent."""
        token = run.tokens[run.at]
        first, last = run.first_of(run.at, text), run.last_of(run.at, text)
        is_believed = own.surnames and self._alone.is_believed(text, run, first, last, own, values)
        if not is_believed and not self._alone.is_compound(run, first, own):
            is_own = is_addressed(text, run, first, own)
            if not is_own and not (own.sure and self._is_supported(text, values, token, own.sure)):
                return None
            first = last = run.at
        first = self._alone.with_particles(run, first, run.at)
        return _person(run.tokens[first].start, run.end_of(last, text), self._sound(token.text), "LISTED_SURNAME")

    def _is_supported(self, text: str, values: Values, token: Token, numbers: Sequence[int]) -> bool:
        """Return whether another value of the same person is near."""
        if len(token.text) < _SHORTEST_SUPPORTED or (not token.is_capital and not token.is_caseless):
            return False
        if is_common_word(token.text.lower()) and is_at_sentence_start(text, token.start):
            return False
        return any(self._index.supports(hashed, number) for hashed in values.near(token.start) for number in numbers)

    def _sound(self, word: str) -> str:
        """Return one spelling for all forms of a listed word."""
        keys = text_keys(word, has_arabic_names=self._index.has_arabic_names)
        ranked = sorted(("wavkKl".index(key[0]), key) for key in keys if self._index.ids(key))
        return ranked[0][1][1:] if ranked else word.casefold()

    def _numbers(self, values: Values) -> Iterator[Finding]:
        place = (-1, -1)
        for start, end, form, hashed in values.numbers:
            if (start, end) != place and self._index.has_value(hashed):
                place = start, end
                entity_type = EntityType.PHONE if form[0] == "p" else EntityType.ACCOUNT
                yield Finding(start, end, entity_type, SCORES["LISTED_NUMBER"], form[1:], "LISTED_NUMBER")


def _gap(run: WordRun, first: int, second: int) -> str:
    """Return the separator of two tokens if they are adjacent."""
    return run.tokens[second].gap if second == first + 1 else " "


def _behind(text: str, finding: Finding, done: int) -> Finding | None:
    """Return the part of a person's name after `done`, because in a list of people two names can share words."""
    if finding.start >= done or finding.entity_type is not EntityType.PERSON:
        return finding
    start = next((place for place in range(done, finding.end) if text[place].isalnum()), finding.end)
    return finding._replace(start=start) if start < finding.end else None


def _person(start: int, end: int, value: str, rule: str) -> Finding:
    return Finding(start, end, EntityType.PERSON, SCORES[rule], value, rule)
