"""What an answer is depends on the question before it, and in a chat that is another text.

    list(answers(["Your account number?", "20481632"]))       # [("20481632", "Your account number: ")]

The detector reads one text at a time. So a short text behind a question is read once more with the question's end
before it, as the label that it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_LONGEST_ANSWER = 96  # characters; a longer one says itself what it speaks of
_QUESTION = 72  # characters of the question's end; rules look no farther back
_MARKS = ("?", "？", "؟")


def answers(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each text that answers the one before it, and what to read before it.

    Args:
        texts: in the order of the conversation.
    """
    asked = ""
    for text in texts:
        if asked and len(text) <= _LONGEST_ANSWER:
            yield text, f"{asked[-_QUESTION:].rstrip().rstrip(''.join(_MARKS))}: "
        asked = text if text.rstrip()[-1:] in _MARKS else ""
