"""Numbers of thousands of digits in the output of a tool: no exception, because `int` raises for more than 4,300."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from check_samples import SAMPLES

from sovctl.compliance.verdict import Verdict
from sovctl.engine.checks.model.check import judge
from sovctl.engine.checks.model.probe import CommandOutput, joined
from sovctl.engine.checks.registry import BY_ID
from sovctl.engine.facts.numbers import unix_time
from sovctl.engine.facts.unreadable import Unreadable

LONG = "9" * 5000
NUMBERS, CHARACTERS = 12, 20_000
"""Replaced numbers of each part, and length of the parts that are tried: longer ones are reports of the same form."""


def changed(text: str) -> Iterator[str]:
    """Yield the text with one number replaced, and with all."""
    for match in list(re.finditer(r"\d+", text))[:NUMBERS]:
        yield text[: match.start()] + LONG + text[match.end() :]
    yield re.sub(r"\d+", LONG, text[:2000])


@pytest.mark.parametrize("check_id", sorted(SAMPLES))
def test_a_long_number_is_not_an_exception(check_id: str) -> None:
    sample = SAMPLES[check_id]
    good = {
        name: CommandOutput(part[0], part[1], "") if isinstance(part, tuple) else CommandOutput(0, part, "")
        for name, part in sample.good.items()
    }
    for name, output in good.items():
        if len(output.stdout) > CHARACTERS:
            continue
        for text in changed(output.stdout):
            found = judge(
                BY_ID[check_id], joined({**good, name: CommandOutput(output.exit_code, text, "")}), sample.expectation
            )
            assert isinstance(found.verdict, Verdict)


@pytest.mark.parametrize("text", ["9" * 20, LONG, "253402300800", "x"])
def test_a_time_beyond_the_calendar_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        unix_time(text)
