"""Runs the release checks of a complete answer.

release_whole(checks, surface, answer)      # masks identifiers in place, or raises AnswerWithheld
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..surfaces import Surface
from ..surfaces.answers.fields import Channel
from ..surfaces.answers.model_strings import ModelString
from .judge import ReleaseCheckRun


def release_whole(judge: ReleaseCheckRun, surface: Surface, answer: dict[str, Any]) -> None:
    """Mask `answer` in place, and return if it can be released.

    Strings that continue their channel, such as captions, are joined and judged as one text.

    Raises:
        AnswerWithheld: a check failed.
    """
    is_changed = False
    answered: set[Channel] = set()
    pieces: dict[Channel, list[ModelString]] = {}
    for said in surface.strings_of(answer):
        if judge.wants_document and said.is_answer:
            answered.add(said.channel[:1])
        if not said.is_whole:
            pieces.setdefault(said.channel, []).append(said)
            continue
        tool = said.holder.get("name") if isinstance(said.holder, dict) else None
        is_changed |= _put(judge, said, judge.whole(said.text, said.voice, tool=tool))
    for together in pieces.values():
        for said, released in zip(together, _released(judge, together), strict=True):
            is_changed |= _put(judge, said, released)
    if judge.wants_document:
        alternatives = len(answer["choices"]) if "choices" in answer else 1
        judge.ended(is_answered=bool(answered) and len(answered) >= alternatives)
    if is_changed:
        without(answer, surface.spelled_out)


def _put(judge: ReleaseCheckRun, said: ModelString, released: str) -> bool:
    if released == said.text:
        return False
    judge.may_change(said)
    said.put(released)
    return True


def _released(judge: ReleaseCheckRun, pieces: Sequence[ModelString]) -> list[str]:
    """Return the text to release for each string. A sentence with a mask is moved to the string in which it began."""
    texts = [said.text for said in pieces]
    spaced = _spaced(texts)
    growing = judge.growing(pieces[0].voice)
    units = [unit for text in spaced for unit in growing.feed(text)] + [*growing.flush()]
    released, piece, read = [""] * len(texts), 0, 0
    for came, may_go in units:
        masked, left = may_go if may_go != came else None, len(came)
        while left:
            taken = min(left, len(spaced[piece]) - read)
            released[piece] += texts[piece][read : read + taken] if masked is None else masked
            masked = masked and ""
            left -= taken
            read += taken
            if read == len(spaced[piece]):
                piece, read = piece + 1, 0
    return released


def _spaced(texts: Sequence[str]) -> list[str]:
    """Return the texts, with a space appended where neither neighbour has one."""
    spaced = []
    for text, following in zip(texts, (*texts[1:], " "), strict=True):
        spaced.append(text if text[-1:].isspace() or following[:1].isspace() else text + " ")
    return spaced


def without(value: Any, fields: frozenset[str]) -> Any:
    """Remove fields that repeat masked text in parts (such as log probabilities) from `value`, in place; return it."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key in fields:
                value[key] = [] if isinstance(item, list) else None
            else:
                without(item, fields)
    elif isinstance(value, list):
        for item in value:
            without(item, fields)
    return value
