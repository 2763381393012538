"""Checks an answer for identifiers that are not in the conversation: invented by the model, or of another person.

The detector reads the answer as the client would see it. A finding is known if its normalized value was found in the
request (passages included), or if it occurs in the request's text or among the values of this conversation, with any
spaces and hyphens. For a principal that may not see values, no finding is known, because a pool may write values that
the principal must not see. A grouped number is also read without the words around it: after "reference", a person's
number would be classified as the number of an order, and the model may have invented that word.

    known = KnownIdentifiers(found, texts, settings, may_see=True)
    masked, outcomes = rescan("Call +49 30 123456.", finder, known, settings)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ..detect.clean_text_cache import Finder
from ..detect.findings.finding import Finding
from ..detect.findings.overlaps import resolve
from ..detect.labels import labelled
from ..detect.numbers.digit_runs import Spans
from ..settings.answers.release import IdentifierAction, IdentifierSettings
from ..tokens.search import find_tokens
from .verdict import Outcome, Verdict

CHECK = "identifiers"
_SPACING = re.compile(r"[\s\u200b-\u200f\u2060\u00ad().\-/]+")
_GROUPED = re.compile(r"(?<![\w.])[0-9(][0-9() -]{7,20}[0-9](?!\w)")
_FEWEST_DIGITS = 9  # fewer are days, years and amounts
_FEWEST_CHARACTERS = 3  # shortest value, without spacing, that is searched in a text

_VERDICTS = {
    IdentifierAction.ALLOW: Verdict.WARN,
    IdentifierAction.MASK: Verdict.WARN,
    IdentifierAction.HAND_OFF: Verdict.FAIL,
    IdentifierAction.REFUSE: Verdict.FAIL,
}


class KnownIdentifiers:
    """Identifiers of the conversation.

    Args:
        found: findings in the request.
        texts: texts of the request, and values of this conversation's tokens.
        may_see: True if the principal may see values.
    """

    def __init__(
        self, found: Iterable[Finding], texts: Sequence[str], settings: IdentifierSettings, *, may_see: bool
    ) -> None:
        own = [*settings.known]
        self._values = {(each.entity_type, each.value) for each in found} if may_see else set()
        self._texts = [*texts, *own] if may_see else own
        self._compact: str | None = None

    def holds(self, finding: Finding, surface: str) -> bool:
        """Return whether an identifier is known."""
        if (finding.entity_type, finding.value) in self._values:
            return True
        if self._compact is None:  # computed on demand, because most answers need no search
            self._compact = "\n".join(map(_compact, self._texts))
        sought = _compact(surface)
        return len(sought) >= _FEWEST_CHARACTERS and sought in self._compact


def rescan(
    text: str,
    finder: Finder,
    known: KnownIdentifiers,
    settings: IdentifierSettings,
    *,
    before: str = "",
    labels: Sequence[str] = (),
) -> tuple[str, list[Outcome]]:
    """Return the text to release, and the outcomes of the check.

    Args:
        before: released text before it, in which an identifier may begin.
        labels: words of the keys above it, in different forms; they explain a value as words before it do.
    """
    whole, new = before + text, list[Finding]()
    found = finder.find(whole)
    found = sorted([*found, *_without_words(whole, finder, found)], key=lambda finding: finding.start)
    if labels:
        shift = len(before)
        by_label = [
            each._replace(start=each.start + shift, end=each.end + shift) for each in labelled(finder, text, labels)
        ]
        found = resolve([*found, *by_label])
    tokens = Spans((token.start, token.end) for token in find_tokens(whole)) if found else Spans(())
    for finding in found:
        start, end = max(0, finding.start - len(before)), finding.end - len(before)
        if end <= 0 or tokens.contains(finding.start, finding.end):
            continue
        if not known.holds(finding, whole[finding.start : finding.end]):
            new.append(Finding(start, end, finding.entity_type, finding.score, finding.value, finding.rule))
    if not new:
        return text, [Outcome(CHECK, Verdict.PASS)]
    entity_types = Counter((finding.entity_type, settings.action_for(finding.entity_type)) for finding in new)
    outcomes = [
        Outcome(CHECK, _VERDICTS[action], f"{action.value}:{entity_type.value}")
        for entity_type, action in sorted(entity_types)
    ]
    return _masked(text, [f for f in new if settings.action_for(f.entity_type) is IdentifierAction.MASK]), outcomes


def _without_words(text: str, finder: Finder, found: Sequence[Finding]) -> Iterator[Finding]:
    """Yield new findings in grouped numbers that are read without context."""
    taken = Spans((other.start, other.end) for other in found)
    for match in _GROUPED.finditer(text):
        number, start = match.group(), match.start()
        if not ("-" in number or ")" in number) or sum(map(str.isdigit, number)) < _FEWEST_DIGITS:
            continue
        for each in finder.find(number):
            first, last = each.start + start, each.end + start
            if not taken.overlaps(first, last):
                yield Finding(first, last, each.entity_type, each.score, each.value, each.rule)


def _masked(text: str, findings: Iterable[Finding]) -> str:
    pieces, position = list[str](), 0
    for finding in findings:
        pieces += (text[position : finding.start], f"[{finding.entity_type.value}]")
        position = finding.end
    return "".join((*pieces, text[position:]))


def _compact(text: str) -> str:
    return _SPACING.sub("", text).casefold()
