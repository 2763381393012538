"""Reads a value together with the words of a label before it: the JSON key of the value.

    is_cue("date of birth")                                      # True: a recognizer knows a word of it
    labelled(finder, "1980-01-02", ["date of birth"])            # [Finding(start=0, end=10, BIRTH_DATE, ...)]

The label and a colon precede the value as in prose, `date of birth: 1980-01-02`, so that every recognizer applies. The
words of the recognizers decide which labels matter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache
from typing import Protocol

from .context.topics import Topics, named_topics
from .findings.finding import Finding
from .findings.overlaps import resolve
from .names.in_fields import field_at_end, words_of_label
from .recognizers.labelled_passwords import has_password_word, spellings
from .recognizers.pins_and_codes import CODE_NAMES, has_code_name
from .schemes import FORMS, NUMBERS
from .text.scanner import Pattern, Scanner

_JOINT = ": "
_LONGEST_READ = 640  # characters of a value; a label explains nothing farther from it, and a password has at most 512
_NOT_CUES = frozenset({"order", "company"})  # topics that explain a number that is not an identifier


class _Finder(Protocol):
    def find(self, text: str) -> list[Finding]:
        """Identifiers, sorted, none overlapping."""


def is_cue(label: str) -> bool:
    """Return whether a label has a word with which a recognizer explains what follows."""
    if _topics().has_word(label):
        return True
    if _words().scan(label) and (has_password_word(label) or has_code_name(label)):
        return True
    return field_at_end(words_of_label(label)) != ""


def prepare() -> None:
    """Load the words, which takes longer than a request may wait."""
    is_cue("password")
    is_cue("name")


def readings(text: str, labels: Iterable[str]) -> list[str]:
    """Return `text` after each of its labels, as it is to be scanned."""
    head = text if len(text) <= _LONGEST_READ else text[:_LONGEST_READ]
    return [f"{label}{_JOINT}{head}" for label in labels]


def labelled(
    finder: _Finder, text: str, labels: Collection[str], suspects: Collection[str] | None = None
) -> list[Finding]:
    """Return the findings in `text` that its labels explain, and those that need none, without overlaps.

    Args:
        suspects: readings that may contain a finding; None if this is unknown.
    """
    found: list[Finding] = []
    for label, reading in zip(labels, readings(text, labels), strict=True):
        if suspects is not None and reading not in suspects:
            continue
        shift = len(label) + len(_JOINT)
        here = finder.find(reading)
        if len(reading) < shift + len(text) and any(finding.end == len(reading) for finding in here):
            here = finder.find(f"{label}{_JOINT}{text}")  # the end of the finding is farther on
        found += [
            finding._replace(start=max(0, finding.start - shift), end=finding.end - shift)
            for finding in here
            if finding.end > shift
        ]
        if found and found[-1].start == 0 and found[-1].end == len(text):
            break  # all of it; another form of the label adds nothing
    return resolve(found)


@cache
def _words() -> Scanner:
    return Scanner([Pattern(each, is_once=True) for each in ("|".join(sorted(spellings())), CODE_NAMES)])


@cache
def _topics() -> Topics:
    specs = {f"@{topic}" for topic in named_topics() if topic not in _NOT_CUES}
    specs.update(spec for number in NUMBERS for spec in number.near)
    specs.update(spec for form in FORMS for spec in form.near)
    return Topics(specs)
