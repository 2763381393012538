"""The schemes as a table. `python -m sovctl.gateway.detect.schemes.table docs/gateway.md` writes it."""

from __future__ import annotations

import sys
from pathlib import Path

from . import FORMS, NUMBERS, Form, Needs, Number

_BEGIN, _END = "<!-- schemes: by sovctl.gateway.detect.schemes.table -->", "<!-- end of schemes -->"
_NEEDS = {Needs.NOTHING: "", Needs.SHAPE: "¹", Needs.WORD: "²"}
_ORDER = (Needs.NOTHING, Needs.SHAPE, Needs.WORD)


def table() -> str:
    """Markdown: for each entity type the rules of its schemes, each with a mark for what it needs."""
    rules: dict[str, dict[str, Needs]] = {}
    known: tuple[Number | Form, ...] = (*NUMBERS, *FORMS)
    for scheme in known:
        of_type = rules.setdefault(scheme.entity_type.value, {})
        least = min(of_type.get(scheme.rule, Needs.WORD), scheme.needs, key=_ORDER.index)
        of_type[scheme.rule] = least
    rows = [
        f"| `{entity_type}` | {', '.join(f'{rule}{_NEEDS[needs]}' for rule, needs in sorted(schemes.items()))} |"
        for entity_type, schemes in sorted(rules.items())
    ]
    return "\n".join(["| entity type | schemes |", "|---|---|", *rows])


def in_page(page: str) -> str:
    """Return `page` with the table between its markers."""
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{table()}\n{_END}{after}"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(in_page(path.read_text(encoding="utf-8")), encoding="utf-8")
