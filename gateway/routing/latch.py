"""Remembers in which conversations an upstream has given bad answers, so that it is asked last there from then on.

One process remembers, and only for a while: forgetting costs one more bad answer.

    latch = Latch()
    latch.note(conversation.key, "small")
    latch.note(conversation.key, "small")
    latch.of(conversation.key)           # frozenset({"small"})
"""

from __future__ import annotations

from collections import Counter, OrderedDict

BAD_ANSWERS = 2
"""Of one upstream in one conversation: one may be chance."""
_MOST_CONVERSATIONS = 8192  # some 3 MB; the one that was longest without a bad answer is forgotten

_NOBODY: frozenset[str] = frozenset()


class Latch:
    """Bad answers by conversation and upstream.

    Args:
        most: conversations that are remembered.
    """

    def __init__(self, *, most: int = _MOST_CONVERSATIONS) -> None:
        self._most = most
        self._bad: OrderedDict[str, Counter[str]] = OrderedDict()

    def note(self, conversation: str, upstream: str) -> None:
        """It has given a bad answer there."""
        bad = self._bad.setdefault(conversation, Counter())
        bad[upstream] += 1
        self._bad.move_to_end(conversation)
        if len(self._bad) > self._most:
            self._bad.popitem(last=False)

    def of(self, conversation: str) -> frozenset[str]:
        """Those that are asked last there."""
        if (bad := self._bad.get(conversation)) is None:
            return _NOBODY
        return frozenset(name for name, count in bad.items() if count >= BAD_ANSWERS)
