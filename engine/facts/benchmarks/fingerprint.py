"""Log probabilities of fixed tokens (output of the program `logprob_fingerprint`), and their distance from others.

version, served = parse_fingerprint(text)
if not other_tokens(record.fingerprint, served):
    distance(record.fingerprint, served).largest        # nats
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..unreadable import MALFORMED, Unreadable
from .prompt_rows import prompt_rows

_WHERE = "fingerprint"
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class ForcedTokens:
    """Log probabilities of the last tokens of one prompt, in nats.

    Args:
        ids_sha256: digest of the numbers of all tokens; another tokenizer gives another digest.
    """

    ids_sha256: str
    logprobs: tuple[float, ...]

    @classmethod
    def from_json(cls, row: Any) -> ForcedTokens:
        """Return the log probabilities of a JSON object.

        Raises:
            ValueError: a value has another form.
        """
        digest, values = row["ids_sha256"], tuple(row["logprobs"])
        if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
            raise ValueError("a SHA-256")
        if not values or any(isinstance(each, bool) or not isinstance(each, int | float) for each in values):
            raise ValueError("a number")
        if not all(map(math.isfinite, values)):
            raise ValueError("a finite number")
        return cls(digest, tuple(map(float, values)))


@dataclass(frozen=True, slots=True)
class Distance:
    """Absolute differences of log probabilities, in nats.

    Args:
        prompt: number of the prompt with the largest difference.
    """

    mean: float
    largest: float
    prompt: int

    def is_within(self, mean: float, largest: float) -> bool:
        """Return whether both values are at most those of a band."""
        return self.mean <= mean and self.largest <= largest


def parse_fingerprint(text: str) -> tuple[str, tuple[ForcedTokens, ...]]:
    """Return the server's version, and the log probabilities of each prompt in order.

    Raises:
        Unreadable: a line has another form, a prompt is missing, or a request failed.
    """
    try:
        version, answers = prompt_rows(text, where=_WHERE)
        return version, tuple(map(ForcedTokens.from_json, answers))
    except MALFORMED:
        raise Unreadable("one JSON object for version and each prompt", text, where=_WHERE) from None


def other_tokens(recorded: Sequence[ForcedTokens], served: Sequence[ForcedTokens]) -> list[int]:
    """Return the numbers of the prompts whose tokens differ from the recorded ones; all if the counts differ."""
    if len(recorded) != len(served):
        return list(range(max(len(recorded), len(served))))
    pairs = zip(recorded, served, strict=True)
    return [
        number
        for number, (old, new) in enumerate(pairs)
        if old.ids_sha256 != new.ids_sha256 or len(old.logprobs) != len(new.logprobs)
    ]


def distance(recorded: Sequence[ForcedTokens], served: Sequence[ForcedTokens]) -> Distance:
    """Return the distance of two fingerprints of the same tokens.

    Raises:
        ValueError: the fingerprints have different tokens, or none.
    """
    if other_tokens(recorded, served) or not recorded:
        raise ValueError("fingerprints of the same tokens")
    deltas = [
        [abs(a - b) for a, b in zip(old.logprobs, new.logprobs, strict=True)]
        for old, new in zip(recorded, served, strict=True)
    ]
    largest = [max(each) for each in deltas]
    flat = [each for of_prompt in deltas for each in of_prompt]
    return Distance(sum(flat) / len(flat), max(largest), largest.index(max(largest)))
