"""How much a test tries: a sample by default, everything with `make test-all`.

    @examples(400)
    @given(st.text())
    def test_any_text_comes_back(text: str) -> None: ...

`make test-all` sets `SOVCTL_TEST_ALL=1`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeVar

from hypothesis import settings

IS_COMPLETE = os.environ.get("SOVCTL_TEST_ALL") == "1"
_SAMPLE = 4  # a default run tries one example in four
_FEWEST = 20

_Case = TypeVar("_Case")


def examples(most: int, **options: Any) -> settings:
    """Return settings for at most `most` examples.

    Args:
        most: examples of a complete run; the default run tries a quarter of them, and at least 20 or `most`.
        options: other settings of Hypothesis.
    """
    return settings(max_examples=most if IS_COMPLETE else min(most, max(_FEWEST, most // _SAMPLE)), **options)


def sample_bytes(most: int) -> int:
    """Return the size of an input whose time must grow linearly: by default a quarter of `most`."""
    return most if IS_COMPLETE else most // _SAMPLE


def sample(cases: Sequence[_Case]) -> list[_Case]:
    """Return all cases in a complete run; by default the first, every fourth after it, and the last."""
    return list(cases) if IS_COMPLETE else [*cases[:-1:_SAMPLE], *cases[-1:]]
