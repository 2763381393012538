"""Question context: an answer is scanned together with the question before it, which in a chat is another text.

    list(answers(["Your account number?", "20481632"]))       # [("20481632", "Your account number: ")]

The detector scans one text at a time. So a short text after a question is scanned again, with the question's end as its
label.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_LONGEST_ANSWER = 96  # characters; longer answers contain their own context
_QUESTION = 72  # characters of the question's end; rules look no farther back
_MARKS = ("?", "？", "؟")


def answers(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each text that answers the text before it, and the text to scan before it.

    Args:
        texts: in the order of the conversation.
    """
    asked = ""
    for text in texts:
        if asked and len(text) <= _LONGEST_ANSWER:
            yield text, f"{asked[-_QUESTION:].rstrip().rstrip(''.join(_MARKS))}: "
        asked = text if text.rstrip()[-1:] in _MARKS else ""
