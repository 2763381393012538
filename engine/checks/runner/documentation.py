"""Generates docs/checks.md from the registry: id, assertion, method and controls of every check.

python -m sovctl.engine.checks.runner.documentation docs/checks.md      # writes the file; a test compares it
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from sovctl.support.atomic_files import write_atomic

from ..model.check import Check
from ..registry import CHECKS

_HEAD = """\
# Checks

<!-- Generated from engine/checks/registry.py by
`python -m sovctl.engine.checks.runner.documentation docs/checks.md`: no edits. -->

`sovctl verify` runs these checks. `site.yaml` and the catalogue determine the nodes, and the objects on a node, that a
check applies to. Methods are those of NIST SP 800-53A: TEST exercises a component, EXAMINE reads its configuration.
Controls are those of NIST SP 800-53 Rev. 5; the result of a check is evidence for a part of each control, not for the
whole control. Expected numbers are in `engine/catalog/`, each with unit, source, kind and date.

The check `topic.words-of-it` is defined in `engine/checks/definitions/topic/words_of_it.py`.

| check | assertion | method | controls |
|---|---|---|---|
"""


def page() -> str:
    """Return the page."""
    rows = [
        f"| {_ids(check)} | {check.title} | {check.method} | {', '.join(map(_control, check.controls))} |"
        for check in CHECKS
    ]
    return _HEAD + "\n".join(rows) + "\n"


def _ids(check: Check[Any]) -> str:
    former = ", ".join(f"`{each}`" for each in check.former_ids)
    return f"`{check.id}`" + (f" (formerly {former})" if former else "")


def _control(name: str) -> str:
    """Return a control in the spelling of NIST: SC-7(5) for `sc-7.5`."""
    family, _, enhancement = name.upper().partition(".")
    return f"{family}({enhancement})" if enhancement else family


if __name__ == "__main__":
    write_atomic(Path(sys.argv[1]), page())
