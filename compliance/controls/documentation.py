"""Generates docs/control-packs.md from the packs and objectives.

python -m sovctl.compliance.controls.documentation docs/control-packs.md      # writes the file; a test compares it
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

from sovctl.support.atomic_files import write_atomic

from . import pack_file
from .framework import (
    Objective,
    Pack,
    builtin_pack,
    checks_without_objective,
    load_pack,
    pack_names,
    shipped_objectives,
)

_HEAD = """\
# Control packs

<!-- Generated from compliance/packs/ by
`python -m sovctl.compliance.controls.documentation docs/control-packs.md`: no edits. -->

A control pack lists all controls of a standard, or the articles of a law, and the evidence that sovctl collects for
a part of them. `compliance.packs` in site.yaml selects the packs of a site; `sovctl report` writes a report for each.

- A report contains evidence for parts of controls. It does not state that a law or standard is fulfilled.
- **Checked** controls have an objective: a property of the site that checks decide. The other controls are `attested`
  by a named person, or `not-run`.
- An objective is defined once, in `compliance/packs/objectives.yaml`. Packs refer to objectives, and state why an
  objective is evidence for the control. A check that is added to an objective reaches all packs.
- A check under `if_present` counts only on a site that declares the part, such as InfiniBand. The evidence of each run
  records the checks without a target.
- Checks that put load on nodes are in objectives of their own. A control with such an objective has no other one,
  because a run of quick checks has no evidence for it.
- Packs of ISO, PCI SSC, AICPA and BSI contain ids and short descriptions in our own words. The texts of these standards
  are sold or licensed by their publishers.
- Packs of laws name the articles, and do not replace legal advice. Entries that were not verified against the primary
  source are marked in `sovctl report packs NAME`.

## Packs

| pack | content | kind | place | controls | checked | date | read |
|---|---|---|---|---|---|---|---|
"""

_OWN = """
## Own packs

`compliance.pack_files` in site.yaml names files with packs of the site; `compliance.packs` selects them by the name of
the file. A file is rejected if it is a link, larger than 1 MiB, or refers to an unknown check, objective or group. All
problems of a file are reported together, each with line, field and remedy.

```yaml
"""


def page() -> str:
    """Return the page."""
    packs = [load_pack(builtin_pack(name)) for name in pack_names()]
    example = inspect.cleandoc((pack_file.__doc__ or "").partition("\n\n")[2].rpartition("\n\n")[0])
    body = "".join(_row(pack) for pack in packs)
    return "".join(
        [
            _HEAD,
            body,
            "".join(_notes(packs)),
            _OWN,
            example,
            "\n```\n",
            "".join(_objectives(packs)),
            "".join(_unmapped()),
        ]
    )


def _row(pack: Pack) -> str:
    return (
        f"| `{pack.name}` | {pack.title} ({pack.version}) | {pack.kind.value} | {pack.jurisdiction} | "
        f"{len(pack.controls)} | {pack.decided()} | {pack.date} | {pack.read} |\n"
    )


def _notes(packs: list[Pack]) -> Iterator[str]:
    yield "\n## Sources and licences\n\n| pack | source | licence | limits |\n|---|---|---|---|\n"
    for pack in packs:
        yield f"| `{pack.name}` | {pack.source} | {pack.licence} | {pack.note} |\n"


def _objectives(packs: list[Pack]) -> Iterator[str]:
    yield "\n## Objectives\n\n| objective | statement | checks | requires people | packs |\n|---|---|---|---|---|\n"
    used: dict[str, int] = {}
    for pack in packs:
        for objective in pack.objectives():
            used[objective.name] = used.get(objective.name, 0) + 1
    for objective in shipped_objectives().values():
        count = used.get(objective.name, 0)
        yield f"| `{objective.name}` | {objective.statement} | {_checks(objective)} | {objective.people} | {count} |\n"


def _unmapped() -> Iterator[str]:
    yield "\n## Checks without objective\n\n| check | reason |\n|---|---|\n"
    for check, reason in checks_without_objective().items():
        yield f"| `{check}` | {reason} |\n"


def _checks(objective: Objective) -> str:
    required = [f"`{check}`" for check in objective.checks]
    return ", ".join([*required, *(f"`{check}` (if present)" for check in objective.if_present)])


if __name__ == "__main__":
    write_atomic(Path(sys.argv[1]), page())
