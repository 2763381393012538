"""Questions with checkable answers, one JSON object per line: {"id", "question", "answer": text or texts, "match"}.

    questions = read_questions(path)                # raises SpecError with all faulty lines
    is_correct(questions[0], "The total is 12.")

| match | an answer is correct if |
|---|---|
| exact | it is one of the texts, without regard to case, spaces and a full stop at the end |
| contains | it contains one of the texts, without regard to case and spaces |
| regex | one of the patterns occurs in it |
| choice | its first word that is one letter is one of the letters, as in "B" or "(B) because ..." |

Messages name the line, and never contain a question or an answer.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import InputError, Problem, SpecError

MATCHES = ("exact", "contains", "regex", "choice")
LEAST, MOST = 50, 200
"""Number of questions. At 50 and 90 % correct answers the binomial error is 9 points."""
MAX_BYTES = 8 << 20
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KEYS = {"id", "question", "answer", "match"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question; one of its answers is sufficient."""

    id: str
    question: str
    answers: tuple[str, ...]
    match: str


def read_questions(path: Path) -> tuple[tuple[Question, ...], bytes]:
    """Return the questions, and the content of the file.

    Raises:
        InputError: the file is unreadable.
        SpecError: all problems of the file.
    """
    try:
        data = read_bounded(path, MAX_BYTES)
        lines = data.decode().splitlines()
    except OSError as error:
        raise InputError(f"cannot read the file: {(error.strerror or 'no access').lower()}", where=str(path)) from None
    except ValueError:
        raise InputError("expected UTF-8, got other bytes", where=str(path)) from None
    found: dict[str, Question] = {}
    problems: list[Problem] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            each = _question(line)
            if each.id in found:
                raise ValueError("expected another id, got one of an earlier line")
            found[each.id] = each
        except ValueError as error:
            hint = 'a line is {"id": "q1", "question": "...", "answer": "...", "match": "exact"}'
            problems.append(Problem(str(error), where=f"{path}: line {number}", hint=hint))
    if not problems and not LEAST <= len(found) <= MOST:
        message = f"expected {LEAST} to {MOST} questions, got {len(found)}"
        problems.append(Problem(message, where=str(path), hint="fewer give a large binomial error"))
    if problems:
        raise SpecError(problems, what="the file of questions")
    return tuple(found.values()), data


def _question(line: str) -> Question:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("expected a JSON object") from None
    if not isinstance(value, dict) or not set(value) <= _KEYS:
        raise ValueError("expected the keys id, question, answer and match")
    name, question, answer, match = (value.get(key) for key in ("id", "question", "answer", "match"))
    answers = tuple(answer) if isinstance(answer, list) else (answer,)
    if not isinstance(name, str) or not _ID.fullmatch(name):
        raise ValueError("expected an id of up to 64 letters, digits, dots and hyphens")
    if not isinstance(question, str) or not question.strip():
        raise ValueError("expected a question")
    if not answers or not all(isinstance(each, str) and each.strip() for each in answers):
        raise ValueError("expected an answer: a text, or a list of texts")
    if match not in MATCHES:
        raise ValueError(f"expected a match of {', '.join(MATCHES)}")
    if match == "choice" and not all(re.fullmatch(r"[A-Za-z]", each) for each in answers):
        raise ValueError("expected one letter as the answer of a choice")
    if match == "regex":
        for each in answers:
            try:
                re.compile(each)
            except re.error:
                raise ValueError("expected a regular expression of Python") from None
    return Question(name, question, answers, match)


def is_correct(question: Question, answer: str) -> bool:
    """Return whether an answer is correct by the rule of its question."""
    if question.match == "regex":
        return any(re.search(each, answer) for each in question.answers)
    if question.match == "choice":
        letter = re.search(r"(?<![^\W_])[A-Za-z](?![^\W_])", answer)
        return letter is not None and letter[0].upper() in {each.upper() for each in question.answers}
    given, wanted = _normal(answer), [_normal(each) for each in question.answers]
    return given in wanted if question.match == "exact" else any(each in given for each in wanted)


def _normal(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")
