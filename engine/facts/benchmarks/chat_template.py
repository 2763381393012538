"""Token numbers of messages rendered by a chat template (output of the program `chat_template`), and their comparison.

rendered = parse_rendered(text)
template_differences(record.templates, rendered)     # "the 31 recorded tokens of shape user", "32 tokens: ..."
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..unreadable import MALFORMED, Unreadable

_WHERE = "chat template"


@dataclass(frozen=True, slots=True)
class Rendered:
    """Token numbers of the messages of one shape; None if the template refused them."""

    shape: str
    token_ids: tuple[int, ...] | None

    @classmethod
    def from_json(cls, row: Any) -> Rendered:
        """Return the shape of a JSON object.

        Raises:
            ValueError: a value has another form.
        """
        name, tokens = row["shape"], row["token_ids"]
        if not isinstance(name, str) or not name or not (tokens is None or isinstance(tokens, list)):
            raise ValueError("a shape")
        if any(isinstance(each, bool) or not isinstance(each, int) or each < 0 for each in tokens or ()):
            raise ValueError("a token number")
        return cls(name, None if tokens is None else tuple(tokens))


def parse_rendered(text: str) -> tuple[Rendered, ...]:
    """Return the shapes in order.

    Raises:
        Unreadable: a line has another form, a shape occurs twice, or a request failed.
    """
    try:
        rows = [json.loads(line) for line in text.splitlines() if line.strip()]
        if failed := next((row for row in rows if "error" in row), None):
            raise Unreadable(f"tokens of shape {failed.get('shape')}", str(failed["error"]), where=_WHERE)
        found = tuple(Rendered.from_json(row) for row in rows)
    except MALFORMED:
        raise Unreadable("one JSON object for each shape", text, where=_WHERE) from None
    if not found or len({each.shape for each in found}) != len(found):
        raise Unreadable("every shape once", text, where=_WHERE)
    return found


def template_differences(recorded: Sequence[Rendered], rendered: Sequence[Rendered]) -> Iterator[tuple[str, str]]:
    """Yield what was expected and found, for each shape that differs; a double BOS token is named."""
    now = {each.shape: each for each in rendered}
    for old in recorded:
        new = now.pop(old.shape, None)
        if new is None:
            yield f"shape {old.shape}", "none"
        elif new.token_ids != old.token_ids:
            yield f"{_size(old.token_ids)} of shape {old.shape}", _deviation(old.token_ids, new.token_ids)
    yield from (("the recorded shapes", f"also {name}") for name in now)


def _size(tokens: tuple[int, ...] | None) -> str:
    return "a refusal" if tokens is None else f"the {len(tokens)} recorded tokens"


def _deviation(old: tuple[int, ...] | None, new: tuple[int, ...] | None) -> str:
    if new is None:
        return "a refusal"
    if not old:
        return f"{len(new)} tokens"
    if new == (old[0], *old):
        return f"a double BOS: token {old[0]} twice at the start"
    if new and old == (new[0], *new):
        return f"one BOS: token {old[0]} was recorded twice"
    if new == old[1:]:
        return f"no BOS: token {old[0]} is missing at the start"
    place = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    return f"{len(new)} tokens, which differ from token {place}"
