"""Inspects a request: entity types and counts, languages, and obstacles to letting it leave.

Every string is scanned once, however often it occurs. The detector scans one text at a time; the inspector adds:

- A short text after a question is scanned as its answer (`question_context`).
- A value found in one text is found in every text of the request, and a name also inflected or with initials
  (`known_names`).
- Values under keys such as `customer_name` in tool arguments are names.

    inspector = Inspector(CachedFinder(detector), SURFACES["/v1/chat/completions"], max_depth=64)
    inspector.inspect(body)      # Inspection({(EntityType.IBAN, "IBAN"): 2}, {"en"}, frozenset(), ...)
    inspector.findings(leaf)     # findings in one string
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ..body.json_texts import JSON, ORDINARY, JsonText, JsonTexts, Path, json_texts_of
from ..body.key_labels import words_of_key
from ..body.keyed_objects import KeyedObject
from ..detect.clean_text_cache import CachedFinder
from ..detect.findings.finding import Finding
from ..detect.findings.overlaps import around_names, resolve, resolve_whole
from ..detect.findings_memory import TenantFindings
from ..detect.labels import labelled, readings
from ..detect.language.language import NONE, UNKNOWN, languages, languages_of
from ..detect.names.nameless import is_nameless
from ..detect.text.words import Words
from ..domain.entities import IDENTIFYING, EntityType
from ..domain.obstacles import Obstacle
from ..domain.work import spend
from ..surfaces import Surface
from ..tokens.surrogates import is_fixed
from .earlier_turns import EarlierTurns
from .empty_results import EmptyResults
from .joined_texts import JoinedTexts
from .known_names import Aliases
from .known_values import KnownValues
from .language_gate import counted_languages, is_language
from .object_keys import ObjectKeys, is_data
from .question_context import answers
from .special_categories import special_categories

_DATA_URI = re.compile(r"\bdata:[\w.+-]{0,64}/?[\w.+-]{0,64}(?:;[\w=.+-]{1,64}){0,4};base64,", re.IGNORECASE)
_LONGEST_PLAIN = 160  # characters without a break; the longest digest in use (SHA-512, hex) has 128
_ENCODED = re.compile(rf"[A-Za-z0-9+/_-]{{{_LONGEST_PLAIN},}}")
_STEPS = re.compile(rf"(?s:.{{,{_LONGEST_PLAIN - 1}}} )*+")  # each to the last space that is near enough

_NAME_KEY = re.compile(r"(?i)(?:^|[_\W]|(?<=[a-z])(?=N))(?:name|surname|lastname|firstname|fullname)$")
_NAME_VALUE = re.compile(r"[^\W\d_a-z][^\d_@/\\{}<>]{1,79}")
_NAME_PART = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
# Units of work, measured 2026-11.
_LABEL_WORK = 40  # the label of a key, once for each label above it
_LEAF_WORK = 20  # a string, a number or a key, in every pass
_TEXT_WORK = 15  # a text, once; its scan is counted by the detector
_TOGETHER_WORK = 12  # a text that is scanned together with others
_FINDING_WORK = 6  # a finding
_TOKEN_WORK = 35  # a finding that may become a token: searched for everywhere, tokenized, stored
_FEWEST_TEXTS = 3  # a request of fewer has no earlier turns; most such requests are never repeated
_MOST_KNOWN = 2_000  # different values; looking for each of them everywhere takes their number times the body's size
_SHORTEST_CODE = 3  # digits of a number that a key may explain: a card verification code
_MOST_LABELLED = 2_000  # different values that their keys may explain; each is read several times

_ELSEWHERE = ("file_id", "file_url", "url")  # where else a part's file may be
_PERSON = EntityType.PERSON  # once: an enum's members take long to get
_SPECIAL = EntityType.SPECIAL_CATEGORY
_UNDETERMINED, _NO_LANGUAGE = frozenset({UNKNOWN}), frozenset({NONE})
_NO_LEAVES = JsonTexts()  # until something was inspected


class Inspection(NamedTuple):  # a named tuple: made for every request, and four times as fast as a frozen dataclass
    """Contents of a request. It contains no text, so it may be logged and audited."""

    found: Mapping[tuple[EntityType, str], int]
    """Findings by entity type and rule, every occurrence counted."""
    languages: frozenset[str]
    """Languages of the prose, as in `detect.language`."""
    obstacles: frozenset[Obstacle]
    looked_by: tuple[str, ...] = ()
    """Names of the slow finders that looked as well: see `model_finders`."""
    screened: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Labels that flag the request, by the screen that read it."""

    @property
    def counts(self) -> Mapping[EntityType, int]:
        """Findings by kind."""
        counts: dict[EntityType, int] = {}
        for (entity_type, _), count in self.found.items():
            counts[entity_type] = counts.get(entity_type, 0) + count
        return counts


class Inspector:
    """Inspects one request, and remembers what it found in each text of it.

    Args:
        max_depth: of nesting, strings that hold JSON included.
    """

    def __init__(self, finder: CachedFinder, surface: Surface, *, max_depth: int) -> None:
        self.finder = finder
        self.leaves = _NO_LEAVES
        self._surface = surface
        self._body: Mapping[str, Any] = {}
        self._max_depth = max_depth
        self._found: dict[str, list[Finding]] = {}
        self._scanned: dict[str, list[Finding]] = {}
        self._spoken: dict[str, frozenset[str]] = {}
        self._readings: dict[str, Words] = {}
        self._known = KnownValues()
        self._keys: ObjectKeys | None = None  # without keys that are read
        self._people: dict[int, list[Finding]] = {}
        self._aliases = Aliases()
        self._is_crowded = False

    def inspect(self, body: dict[str, Any]) -> Inspection:
        """Everything in `body`.

        Raises:
            TooDeep: see `leaves`.
            Exception: whatever the detector raises; the request is then to be treated as full of identifiers.
        """
        self.leaves = leaves = json_texts_of(
            body, max_depth=self._max_depth, is_cue=self.finder.is_cue, before_label=_count_label
        )
        self._body = body
        if len(leaves.texts) < _FEWEST_TEXTS:
            self.finder = self.finder.without_memory()
        spend(_LEAF_WORK * (len(leaves.texts) + len(leaves.numbers) + len(leaves.keys)))
        for leaf in leaves.texts:
            self._find(leaf.text)
            place = leaf.place
            if type(place) is str and "name" in place.lower():
                self._inspect_name(leaf, body)
        self._inspect_many(leaves)
        self._inspect_labelled(leaves)
        self._inspect_joined(leaves)
        for text, question in answers(leaf.text for leaf in leaves.texts if leaf.text not in ORDINARY):
            self._answer(text, question)
        if 0 < len(self._known) <= _MOST_KNOWN:
            self._spread("found")
        return self._result()

    @property
    def prose(self) -> dict[str, list[Finding]]:
        """Every text with words, once, in order, with its findings."""
        texts = {leaf.text: self.findings(leaf) for leaf in self.leaves.texts}
        return {text: found for text, found in texts.items() if text not in ORDINARY and _NAME_PART.search(text)}

    def add(self, found: Mapping[str, list[Finding]]) -> Inspection:
        """Add findings of other finders, by text; return the inspection of the body including them."""
        for text, findings in found.items():
            before = self._found[text]
            self._found[text] = resolve_whole([*before, *findings], text)
            for finding in set(self._found[text]).difference(before):
                self._remember(text, finding)
        if 0 < len(self._known) <= _MOST_KNOWN:
            self._spread("models")
        return self._result()

    def know(self, people: Iterable[str]) -> None:
        """Also find these people, named earlier in the conversation, in all forms of their names."""
        for name in people:
            self._aliases.learn(name)
        self._spread("people")

    @property
    def memory_of_turns(self) -> TenantFindings | None:
        """The memory of the conversation; None without a memory, and for a request that repeats nothing."""
        return self.finder.memory

    def findings(self, leaf: JsonText) -> list[Finding]:
        """Identifiers in a leaf, those included that are known from elsewhere in the request."""
        return self._people.get(id(leaf)) or self._found[leaf.text]

    @property
    def keys(self) -> ObjectKeys | None:
        """The keys of the body, with their findings; None if no key was found to be an identifier or a name."""
        return self._keys if self._keys is not None and self._keys.found else None

    def objects_with_found_keys(self) -> Iterator[tuple[KeyedObject, bool]]:
        """Yield the objects with such keys, and whether the keys may be replaced."""
        if self._keys is not None and self._keys.found:
            spend(len(self.leaves.texts) + len(self.leaves.names) + len(self.leaves.keys))
            for keyed in self.leaves.objects_with(self._keys.found, self._body):
                yield keyed, is_data(keyed, self._surface)

    @property
    def found(self) -> Iterator[Finding]:
        """Every finding in every text so far."""
        return (finding for findings in (*self._found.values(), *self._people.values()) for finding in findings)

    def _inspect_many(self, leaves: JsonTexts) -> None:
        """Find identifiers in numbers and keys, of which a body may contain hundreds of thousands."""
        if leaves.numbers:
            numbers = dict.fromkeys(leaf.text for leaf in leaves.numbers)
            spend(_TOGETHER_WORK * len(numbers))
            suspects = set(self.finder.suspects(numbers))
            for number in numbers:
                if number in suspects:
                    self._find(number)
                else:
                    self._found.setdefault(number, [])
        if leaves.keys or leaves.names:
            spend(_TOGETHER_WORK * len(leaves.keys))
            self._keys = ObjectKeys(self.finder, leaves)
            self._keys.find()
            for value, finding in self._keys.values:
                self._known.add(value, finding)
                if finding.entity_type is _PERSON:
                    self._aliases.learn(value)

    def _inspect_labelled(self, leaves: JsonTexts) -> None:
        """Find what only the keys above a value explain."""
        values = {(leaf.text, leaf.labels): leaf for leaf in leaves.texts if leaf.labels}
        values |= {
            (each.text, each.labels): each
            for each in leaves.numbers
            if len(each.text) >= _SHORTEST_CODE and each.labels
        }
        rows = [(row, joined) for row in leaves.rows if (joined := JoinedTexts.of_row(row)) is not None]
        if not values and not rows:
            return
        if len(values) + len(rows) > _MOST_LABELLED:
            self._is_crowded = True
            return
        memory, before = self.memory_of_turns, self._found.copy()
        empty = EmptyResults(memory, "labelled")
        keys = {each: hash((*each, *before[each[0]])) for each in values} if memory is not None else {}
        values = {each: leaf for each, leaf in values.items() if not keys or keys[each] not in empty}
        written = [*values, *((joined.text, row[0].labels) for row, joined in rows)]
        suspects = set(self.finder.suspects(each for text, labels in written for each in readings(text, labels)))
        for text, labels in values:
            found = labelled(self.finder, text, labels, suspects) if suspects and text not in ORDINARY else []
            is_new = self._add(text, found)
            if keys and not is_new and self._found[text] is before[text]:  # not after a finding by another label
                empty.add(keys[text, labels])
        empty.remember()
        for row, joined in rows if suspects else ():
            for text, found in joined.parts_of(labelled(self.finder, joined.text, row[0].labels, suspects)):
                self._add(text, found, is_known=False)

    def _inspect_joined(self, leaves: JsonTexts) -> None:
        """Find what is in two parts of one message, or what one part says about the next."""
        messages: dict[Path, list[str]] = {}
        for leaf in leaves.texts:
            path = leaf.path
            if len(path) > 2 and type(path[-2]) is int and leaf.text not in ORDINARY and leaf.wrapping is None:
                together = self._surface.prose(path)
                if together is not None and JSON not in path:
                    messages.setdefault(together, []).append(leaf.text)
        several = [texts for texts in messages.values() if len(texts) > 1]
        joined = [JoinedTexts.of_parts(texts, separator) for texts in several for separator in ("", " ")]
        suspects = set(self.finder.suspects(each.text for each in joined)) if joined else set()
        by_text: dict[str, list[Finding]] = {}
        for each in joined:
            if each.text in suspects:
                for text, found in each.parts_of(self.finder.find(each.text), is_context=True):
                    by_text.setdefault(text, []).extend(found)
        for text, found in by_text.items():
            self._add(text, found, is_known=False)

    def _add(self, text: str, found: list[Finding], *, is_known: bool = True) -> bool:
        """Add findings of one text; return whether they are new.

        Args:
            is_known: whether the same values are also to be found in other texts.
        """
        more = set(found).difference(before := self._found[text]) if found else ()
        if more:
            self._found[text] = resolve([*before, *found])
            for finding in more if is_known else ():
                self._remember(text, finding)
        return bool(more)

    def _inspect_name(self, leaf: JsonText, body: Mapping[str, Any]) -> None:
        text, path = leaf.text, leaf.path
        if self._surface.is_person(path, body) or (
            (leaf.document is not None or self._surface.is_argument(path))
            and _NAME_KEY.search(str(path[-1]))
            and _NAME_VALUE.fullmatch(text)
        ):
            whole = Finding(0, len(text), _PERSON, 1.0, text.casefold(), "NAME_KEY")
            self._people[id(leaf)] = [whole]
            if not self._found[text]:
                self._remember(text, whole)

    def _find(self, text: str) -> None:
        found = self._found.get(text)
        if found is None:
            spend(_TEXT_WORK)
            found, spoken, text_words = ([], None, None) if text in ORDINARY else self.finder.scan(text)
            self._found[text] = self._scanned[text] = found
            if spoken is not None:
                self._spoken[text] = spoken
            if text_words is not None:
                self._readings[text] = text_words
            for finding in found:
                self._remember(text, finding)
            spend((_FINDING_WORK if len(self._known) > _MOST_KNOWN else _TOKEN_WORK) * len(found))
            if found and "\t" in text:
                for name in _over_cells(text, found):
                    self._aliases.learn(name)

    def _answer(self, text: str, question: str) -> None:
        """Find in `text` what only the question before it explains."""
        shift = len(question)
        found = [
            finding._replace(start=finding.start - shift, end=finding.end - shift)
            for finding in self.finder.find(question + text)
            if finding.start >= shift
        ]
        self._add(text, found)

    def _remember(self, text: str, finding: Finding) -> None:
        surface = text[finding.start : finding.end]
        self._known.add(surface, finding)
        if finding.entity_type is _PERSON:
            self._aliases.learn(surface)

    def _spread(self, stage: str) -> None:
        """Find the known values in all texts.

        Args:
            stage: see `earlier_turns`.
        """
        found = {text: before for text, before in self._found.items() if text not in ORDINARY}
        memory = self.memory_of_turns
        earlier = EarlierTurns(memory, stage) if memory is not None else None
        results = earlier.results(found, self._known, self._aliases) if earlier is not None else {}
        for text, before in found.items():
            if (final := results.get(text)) is not None:
                if final is not before:
                    self._found[text] = final
                continue
            here = {finding.start: finding for finding in before}
            more = []
            for start, end, origin in self._known.find(text):
                known = here.get(start)
                if known is None or known.end != end or known.entity_type is not origin.entity_type:
                    more.append(origin._replace(start=start, end=end))
            if self._aliases:
                more += around_names(before, self._aliases.find(text), text)
            if more:
                self._found[text] = resolve([*before, *more])
        if earlier is not None:
            earlier.remember(found, self._found, self._known, self._aliases)
        if self._keys is not None:
            self._keys.spread(self._known, self._aliases)

    def _result(self) -> Inspection:
        surface, leaves = self._surface, self.leaves
        counts: dict[tuple[EntityType, str], int] = {}
        obstacles: set[Obstacle] = set(surface.obstacles(self._body))
        if self._is_crowded or len(self._known) > _MOST_KNOWN:
            obstacles.add(Obstacle.CROWD)
        spoken: set[str] = set()
        prose: dict[Path, list[tuple[str, list[Finding]]]] = {}
        for leaf in leaves.texts:
            text, path, found = leaf.text, leaf.path, self.findings(leaf)
            if found:
                _count(found, counts)
                if is_fixed(path):
                    obstacles.add(Obstacle.SCHEMA)
            if ";" in text and len(text) > 20 and ";base64," in text and _DATA_URI.search(text):
                obstacles.add(Obstacle.DATA_URI)
            if len(text) >= _LONGEST_PLAIN and _has_long_run(text) and _has_encoded(text, found):
                obstacles.add(Obstacle.ENCODED)
            if text in ORDINARY:
                continue
            together = surface.prose(path)
            is_prose = leaf.wrapping is None or leaf.wrapping.is_prose
            if together is not None and is_prose and JSON not in path and not surface.is_argument(path):
                prose.setdefault(together, []).append((text, found))
            elif together is not None:
                spoken |= self._languages(text, found) - {UNKNOWN, NONE}
            elif path[0] not in surface.dropped and is_language(text, is_description=path[-1] == "description"):
                spoken |= counted_languages(text, self._languages(text, found))
        if self._keys is not None:
            self._keys.take(self._found)
            for key in (*leaves.keys, *leaves.names):
                if in_key := self._keys.found.get(key):
                    _count(in_key, counts)
                elif not key.isascii():
                    words = words_of_key(key)
                    spoken |= counted_languages(words, languages(words))
            if not all(may_be_replaced for _, may_be_replaced in self.objects_with_found_keys()):
                obstacles.add(Obstacle.KEY)
        for leaf in leaves.numbers:
            if found := self._found[leaf.text]:
                _count(found, counts)
                if leaf.document is None and not surface.is_argument(leaf.path):
                    obstacles.add(Obstacle.NUMBER)
        if not IDENTIFYING.isdisjoint(entity_type for entity_type, _ in counts):
            for category, count in special_categories(leaves, self.findings, self.memory_of_turns).items():
                counts[_SPECIAL, category] = count
        files = {leaf.path[:end] for leaf in leaves.texts if leaf.wrapping for end in range(1, len(leaf.path) + 1)}
        for path, item in leaves.objects:
            if surface.is_part(path):
                obstacle = surface.obstacle(item)
                if obstacle is Obstacle.FILE and path in files and _is_all_there(item):
                    continue
                if obstacle is not None:
                    obstacles.add(obstacle)
        for texts in prose.values():
            (text, found), *others = texts
            if others:
                told = languages("\n\n".join([_without(text, found) for text, found in texts]))
            elif found:
                told = self._languages(text, found)
            else:
                told = self._spoken.get(text) or self.finder.languages(text, self._readings.get(text))
            if told == _UNDETERMINED and all(is_nameless(_without(text, found)) for text, found in texts):
                told = _NO_LANGUAGE
            spoken |= told
        self._readings.clear()
        return Inspection(counts, frozenset(spoken or {NONE}), frozenset(obstacles))

    def _languages(self, text: str, found: list[Finding]) -> frozenset[str]:
        """Return the languages of a text without its findings, because names and addresses have no language."""
        is_as_scanned = found and found is self._scanned.get(text)
        if is_as_scanned and (spoken := self._spoken.get(text)) is not None:
            return spoken
        text_words = self._readings.get(text)
        spoken = languages(_without(text, found)) if text_words is None else languages_of(text_words.outside(found))
        if is_as_scanned:
            self._spoken[text] = spoken
            self.finder.add_languages(text, spoken)
        return spoken


def _count_label() -> None:
    spend(_LABEL_WORK)


def _count(findings: Iterable[Finding], counts: dict[tuple[EntityType, str], int]) -> None:
    for finding in findings:
        key = finding.entity_type, finding.rule
        counts[key] = counts.get(key, 0) + 1


def _over_cells(text: str, findings: list[Finding]) -> Iterator[str]:
    """People in cells side by side, whose initials may be those of one: "Anna<TAB>Quandt"."""
    for before, behind in itertools.pairwise(findings):
        if before.entity_type is behind.entity_type is _PERSON and text[before.end : behind.start].strip(" ") == "\t":
            yield text[before.start : behind.end]


def _is_all_there(part: Mapping[str, Any]) -> bool:
    """Return whether the part of a file does not also point to another file."""
    inner = next((part[name] for name in ("file", "source") if isinstance(part.get(name), dict)), part)
    return not any(inner.get(name) for name in _ELSEWHERE)


def _has_long_run(text: str) -> bool:
    """Return whether so many characters stand together without a space; prose has one near the end of every step."""
    steps = _STEPS.match(text)
    assert steps is not None  # it also matches zero steps
    return len(text) - steps.end() >= _LONGEST_PLAIN


def _has_encoded(text: str, findings: list[Finding]) -> bool:
    """Return whether the text contains a run that may be encoded, outside of all findings."""
    for match in _ENCODED.finditer(text):
        start, end = match.span()
        place = bisect_right(findings, start, key=_start_of) - 1
        if place < 0 or findings[place].end < end:
            return True
    return False


def _start_of(finding: Finding) -> int:
    return finding.start


def _without(text: str, findings: list[Finding]) -> str:
    """Return the text with blanks for findings."""
    if not findings:
        return text
    pieces, position = [], 0
    for finding in findings:
        pieces.append(text[position : finding.start])
        position = finding.end
    pieces.append(text[position:])
    return " ".join(pieces)
