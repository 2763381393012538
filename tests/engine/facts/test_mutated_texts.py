"""Damaged output of tools gives a value or `Unreadable`: no other exception, and no hang.

Every parser gets each text that it accepts, invented and captured, with damage (`mutations`).
"""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutations import mutated
from parsers import Parser, accepted, captured, invented, parsers

from examples import examples
from sovctl.engine.facts.unreadable import Unreadable

LIMIT_S = 10.0  # processor time


@contextmanager
def time_limit() -> Iterator[None]:
    """Raise after `LIMIT_S` seconds of processor time."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise AssertionError(f"the parser runs for more than {LIMIT_S} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def read(parser: Parser, text: str) -> None:
    with time_limit(), suppress(Unreadable):
        value = parser(text)
        if isinstance(value, Iterator):
            list(value)


def test_most_parsers_accept_an_invented_text() -> None:
    without = [path for path, parser in parsers().items() if not accepted(parser, invented())]
    assert len(without) * 20 <= len(parsers()), without


@pytest.mark.parametrize("path", sorted(parsers()))
@examples(80)
@given(source=st.randoms(use_true_random=False))
def test_damaged_text_is_a_value_or_unreadable(path: str, source: random.Random) -> None:
    parser = parsers()[path]
    texts = accepted(parser, invented())
    read(parser, mutated(source.choice(texts or ["x"]), source, times=source.randint(1, 3)))


@pytest.mark.shared
@pytest.mark.parametrize("path", sorted(parsers()))
def test_damaged_captures_are_a_value_or_unreadable(path: str, captures: Path) -> None:
    parser, source = parsers()[path], random.Random(path)
    for text in accepted(parser, captured(captures))[:12]:
        for _ in range(8):
            read(parser, mutated(text, source, times=source.randint(1, 3)))
