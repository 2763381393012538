"""Texts without identifiers that look as if they had some: companies before a court, meters, invoices, days, units.

    for document in legal_forms("pl", documents=60, seed=7): ...     # no spans
    for document in counters("cs", documents=60, seed=7): ...        # the same

Names, legal forms and sentences are in `words/legal_forms.yaml`; digits are drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any

from bench.pii_sets.documents import Page
from bench.pii_sets.words.reader import words_of

_SENTENCES = 3  # of one document


def languages() -> tuple[str, ...]:
    """Return the languages, sorted."""
    return tuple(sorted(words_of("legal_forms")))


def legal_forms(language: str, *, documents: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield documents about companies, some in capitals."""
    known, dice = words_of("legal_forms")[language], Random(f"{seed} legal forms {language}")
    for _ in range(documents):
        page = Page(language)
        text = " ".join(
            re.sub(r"{c}", lambda _: _company(known, dice), dice.choice(known["legal"])) for _ in range(_SENTENCES)
        )
        page.say(text.upper() if dice.random() < 0.2 else text)
        yield page.document()


def counters(language: str, *, documents: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield documents with numbers of meters and invoices, and with days."""
    known, dice = words_of("legal_forms")[language], Random(f"{seed} counters {language}")
    for _ in range(documents):
        page = Page(language)
        text = " ".join(dice.choice(known["counters"]) for _ in range(_SENTENCES))
        page.say(re.sub("#", lambda _: dice.choice("1234567890"), text))
        yield page.document()


def _company(known: dict[str, list[str]], dice: Random) -> str:
    return dice.choice(known["forms"]).replace("{n}", dice.choice(known["names"]))
