"""Decides whether a listed surname without other parts of its name is a person.

A title, a role, an initial or a particle before the surname is sufficient. Otherwise the surname must be long enough,
written as listed or inflected, and neither an ordinary word nor half the list's.
"""

from __future__ import annotations

from ...names.cues import TITLES
from ...names.shape import ends_like_surname
from ..forms.exact_forms import Form
from ..forms.keys import initial_classes
from ..index.index import Index, initial_of
from ..index.people import JOINTS
from ..index.values import Values
from .nouns import is_determined, is_noun
from .pairs import is_at_sentence_start
from .titles import ADDRESSES, BEFORE_SURNAMES, BETWEEN, FAMILY, TITLE_LETTERS, has_article, is_written
from .vocabulary import Listed, Vocabulary, folded
from .word_run import WordRun

_SHORTEST_ALONE = 4  # letters of a surname without other words of its name
_SHORTEST_FIRST = 5  # the same at the beginning of a sentence, where every word has a capital
_SHORTEST_FIRST_INFLECTED = 7  # and in another case
_SHORTEST_FIRST_SUFFIXED = 9  # and with a suffix that any word may have
_SHORTEST_SUFFIXED = 7  # with such a suffix within a sentence
_SHORTEST_LOWER = 6  # the same in a text without any capitals

_OWN_PARTICLES = frozenset(("van", "von", "ter", "ten", "de", "di", "da", "dos", "du", "le", "la", "del", "della"))


class SurnameAlone:
    """Rules for surnames of one index."""

    def __init__(self, index: Index, vocabulary: Vocabulary) -> None:
        self._index = index
        self._vocabulary = vocabulary

    def with_particles(self, run: WordRun, first: int, own: int) -> int:
        """Return the first token of a name including its listed particles: dos Anjos."""
        start = first
        while start > 0 and run.tokens[start - 1].text.lower() in BETWEEN:
            start -= 1
        if start == first:
            return first
        whole = "".join(token.text for token in run.tokens[start : own + 1])
        listed = self._vocabulary.look_up(folded(whole))
        return start if listed.alone and listed.form is Form.AS_LISTED else first

    def is_compound(self, run: WordRun, first: int, own: Listed) -> bool:
        """Return whether a listed surname has its own particle, such as van Dijk; Dijk alone would be a word."""
        start = self.with_particles(run, first, run.at)
        is_part = first < run.at and run.tokens[first].text.lower() in _OWN_PARTICLES
        is_several = start < run.at - 1 and bool(own.alone)  # one particle may be an article: "le Prince"
        if start == run.at or not run.tokens[run.at].is_capital or not (is_part or is_several):
            return False
        whole = self._vocabulary.look_up(folded("".join(token.text for token in run.tokens[start : run.at + 1])))
        return bool(whole.alone) and whole.form is Form.AS_LISTED

    def is_believed(self, text: str, run: WordRun, first: int, last: int, own: Listed, values: Values) -> bool:
        """Return whether a listed surname is sufficient in this context.

        Args:
            first, last: tokens of the name, with its initials.
        """
        token, index = run.tokens[run.at], self._index
        opening = first
        while opening > 0 and run.tokens[opening - 1].text in BETWEEN:
            opening -= 1
        before = run.tokens[opening - 1].text.lower() if opening > 0 else ""
        if opening < first and before not in ADDRESSES and before not in TITLES:
            before, opening = run.tokens[first - 1].text.lower(), first  # "le fils de Jean" has no title
        # The unit in "12 ms." is not a title.
        is_unit = opening > 1 and run.tokens[opening - 2].text[-1].isdigit() and before == run.tokens[opening - 1].text
        if before in BEFORE_SURNAMES and not is_unit and (token.is_capital or token.is_caseless or own.alone):
            return True
        if before in ADDRESSES and not is_unit and is_written(own):
            return True
        if token.is_caseless and run.at > 0:
            part = run.tokens[run.at - 1].text
            if part == FAMILY or (part in JOINTS and self._vocabulary.look_up(folded(part + token.text)).alone):
                return True
        is_lower = not token.is_capital and not token.is_caseless
        places = (place for place in range(first, last + 1) if place != run.at and run.is_initial(place, text))
        initials = [run.tokens[place].text for place in places]
        if (token.is_caseless or (token.is_capital and own.exact)) and not TITLE_LETTERS.isdisjoint(initials):
            return first == 0 or not run.tokens[first - 1].text[-1].isdigit()  # metres, millions
        if initials and not is_lower:
            classes = {letter for initial in initials for letter in initial_classes(initial)}
            if index.has_pair(map(initial_of, classes), own.surnames):
                return True
        if own.surnames and token.is_capital and has_article(run, first, own) and len(token.text) >= _SHORTEST_FIRST:
            return True
        if not own.alone or is_determined(run, first, last, values, own.form):
            return False
        if token.is_caseless:
            return True
        if is_noun(run, first, values):
            return False
        if is_lower:
            return len(token.text) >= _SHORTEST_LOWER and values.is_lower
        if ends_like_surname(token.text):
            return True
        is_first = is_at_sentence_start(text, run.tokens[first].start)
        # Few short words of prose that are not known as words have letters with marks, such as Rätz.
        is_plain = token.text.isascii()
        if len(token.text) < (_SHORTEST_FIRST if is_first and is_plain else _SHORTEST_ALONE):
            return False
        if is_first and own.form > Form.POSSESSIVE:
            is_suffixed = own.form is Form.SUFFIXED or values.has_suffixes
            if len(token.text) < (_SHORTEST_FIRST_SUFFIXED if is_suffixed else _SHORTEST_FIRST_INFLECTED):
                return False
        if own.form is Form.SUFFIXED:
            return values.has_suffixes and len(token.text) >= _SHORTEST_SUFFIXED
        if own.form is Form.INFLECTED:
            return values.may_inflect(token.text) or values.has_suffixes
        return own.form is Form.AS_LISTED or values.has_genitive_s
