"""Finds special categories of personal data next to an identified person: in the same text, message or row.

GDPR Art. 9 and 10 protect data about a person: "the patient has diabetes" is such data if the message also contains a
name or an identifier of a person. Other messages give no finding. Messages are the items of the lists in a body; a
body without lists is one message. Keys of JSON are read with their values. Pure.

    special_categories(leaves, inspector.findings)      # Counter({"HEALTH": 1})
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from ..body.json_texts import ORDINARY, JsonText, JsonTexts, Path
from ..body.key_labels import TRANSPARENT, words_of_key
from ..detect.findings.finding import Finding
from ..detect.findings_memory import TenantFindings
from ..detect.special_categories.finder import categories_in
from ..domain.entities import IDENTIFYING
from .empty_results import EmptyResults

_WORDS_OF_NAME = 2


def special_categories(
    leaves: JsonTexts, findings: Callable[[JsonText], Sequence[Finding]], memory: TenantFindings | None = None
) -> Counter[str]:
    """Return the number of mentions of each category in messages that identify a person.

    Args:
        memory: holds keyed hashes of messages of the conversation without a mention; None without a memory.
    """
    about = {
        message_of(leaf.path)
        for leaf in (*leaves.texts, *leaves.numbers)
        if any(finding.entity_type in IDENTIFYING for finding in findings(leaf))
    }
    messages: dict[Path, list[JsonText]] = {}
    for leaf in leaves.texts if about else ():
        message = message_of(leaf.path)
        if message in about and leaf.text not in ORDINARY:
            messages.setdefault(message, []).append(leaf)
    without = EmptyResults(memory, "special categories")
    counts: Counter[str] = Counter()
    for together in messages.values():
        key = 0
        if memory is not None:
            key = hash(tuple([(_label_of(leaf.path), leaf.text, *findings(leaf)) for leaf in together]))
            if key in without:
                continue
        texts = [_labelled(leaf.path, _without_names(leaf.text, findings(leaf))) for leaf in together]
        mentions = categories_in("\n".join(texts))
        counts += mentions
        if not mentions:
            without.add(key)
    without.remember()
    return counts


def message_of(path: Path) -> Path:
    """Return the path of the message that contains a leaf: a field of the body, and its items in lists of lists."""
    end = 1
    while end < len(path) and type(path[end]) is int:
        end += 1
    return path[:end]


def _without_names(text: str, findings: Sequence[Finding]) -> str:
    """Return the text with blanks for findings, because a name such as Krebs is also a word.

    Only the first words of a long name are left out, because the name may have taken words in capitals after it.
    """
    if not findings:
        return text
    pieces, position = [], 0
    for finding in findings:
        pieces.append(text[position : finding.start])
        pieces += text[finding.start : finding.end].split()[_WORDS_OF_NAME:]
        position = finding.end
    pieces.append(text[position:])
    return " ".join(pieces)


def _labelled(path: Path, text: str) -> str:
    """Return a text after the key that it is the value of."""
    key = _label_of(path)
    return text if key in TRANSPARENT else f"{words_of_key(key)}: {text}"


def _label_of(path: Path) -> str:
    return next((step for step in reversed(path) if isinstance(step, str)), "")
