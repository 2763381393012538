"""Limits of numbers in a request that multiply the work of a server: answers, and log probabilities.

    excessive_field({"n": 200}, max_answers=16, max_logprobs=20)     # "n"

vLLM before 0.19 started any number of answers (CVE-2026-34756), and holds the log probabilities of a token in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ANSWERS = ("n", "best_of")
LOGPROBS = ("logprobs", "top_logprobs", "prompt_logprobs")
"""In chat requests `logprobs` is true or false. -1 means the whole vocabulary in vLLM."""


def excessive_field(body: Mapping[str, Any], *, max_answers: int, max_logprobs: int) -> str | None:
    """Return the first field with another value than a number up to its limit; None without one.

    A field whose value is null counts as absent.
    """
    for names, limit in ((ANSWERS, max_answers), (LOGPROBS, max_logprobs)):
        for name in names:
            value = body.get(name)
            if value is None or isinstance(value, bool):
                continue
            # vLLM reads "17" and 17.0 as 17.
            if not isinstance(value, int | float) or not 0 <= value <= limit:
                return name
    return None
