"""Remembers which texts of a conversation were searched for which known values and names, and the result.

Each turn searches every text for every value that is known from another text. Of a turn that repeats nine others, most
texts were searched for most values before. The result for a text stays valid if

- the text has the same findings of its own;
- every earlier value is still known, by an equal finding, and every earlier name, in the same order;
- none of the new values and names occurs in it: all texts are searched for them as one.

Any other text is searched for everything, as without a memory. Values and names are compared by keyed hashes; results
are encrypted, see `detect.findings_memory`.

    earlier = EarlierTurns(memory, "spread")
    results = earlier.results(found, known, aliases)      # final findings by text
    earlier.remember(found, final, known, aliases)
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate

from ..detect.findings.finding import Finding
from ..detect.findings_memory import TenantFindings, findings_of
from .known_names import Aliases
from .known_values import KnownValues

_APART = "\n\n"

_Findings = list[Finding]


class EarlierTurns:
    """Results of the earlier turns of one conversation.

    Args:
        stage: name of the stage that searches; each has results of its own.
    """

    def __init__(self, memory: TenantFindings, stage: str) -> None:
        self._memory = memory
        self._stage = stage
        self._texts: dict[int, int] = {}
        self._is_current = False

    def results(self, found: Mapping[str, _Findings], known: KnownValues, aliases: Aliases) -> Mapping[str, _Findings]:
        """Return the final findings of the texts whose earlier result is valid; those of `found` if nothing was added.

        Args:
            found: findings by text, before the search.
        """
        record = self._memory.read(self._stage, "")
        if record is None:
            return {}
        values, names, texts = record[1]
        places = dict(zip(texts[::2], texts[1::2], strict=True))
        by_hash = known.by_hash()
        earlier_values = set(values)
        if not earlier_values <= by_hash.keys():
            return {}
        earlier_names = set(names)
        hashes = [hash(name) for name in aliases.names]
        if [each for each in hashes if each in earlier_names] != names:
            return {}
        valid = {text: key for text, before in found.items() if (key := _key(text, before)) in places}
        new_values = [value for each, value in by_hash.items() if each not in earlier_values]
        new_names = Aliases()
        for name, each in zip(aliases.names, hashes, strict=True):
            if each not in earlier_names:
                new_names.learn(name)
        for text in _touched(valid, new_values, new_names):
            del valid[text]
        results: dict[str, _Findings] = {}
        for text, key in valid.items():
            number = places[key]
            if not number:
                results[text] = found[text]
            elif (final := self._memory.read(self._stage, text)) is not None and final[0] == number:
                results[text] = findings_of(final[1])
            else:
                continue
            self._texts[key] = number
        self._is_current = len(results) == len(found) == len(places) and not new_values and not new_names
        return results

    def remember(
        self,
        found: Mapping[str, _Findings],
        final: Mapping[str, _Findings],
        known: KnownValues,
        aliases: Aliases,
    ) -> None:
        """Remember the results of this turn."""
        if self._is_current:
            return
        texts: list[int] = []
        for text, before in found.items():
            key = _key(text, before)
            number = self._texts.get(key)
            if number is None:
                number = 0
                if final[text] != before:
                    number = self._memory.write(self._stage, text, [tuple(each) for each in final[text]])
                    if not number:
                        continue
            texts += (key, number)
        self._memory.write(self._stage, "", [list(known.by_hash()), [hash(name) for name in aliases.names], texts])


def _key(text: str, before: _Findings) -> int:
    return hash((text, *before))


def _touched(texts: Collection[str], values: Sequence[str], names: Aliases) -> set[str]:
    """Return the texts that may contain one of these values or names."""
    if not texts or not (values or names):
        return set()
    together = _APART.join(texts)
    some = [value for value in values if value in together]
    touched = {text for text in texts if any(value in text for value in some)} if some else set()
    if found := names.find(together):
        in_order = list(texts)
        starts = list(accumulate((len(text) + len(_APART) for text in in_order), initial=0))
        touched.update([in_order[bisect_right(starts, each.start) - 1] for each in found])
        touched.update([in_order[bisect_left(starts, each.end) - 1] for each in found])
    return touched
