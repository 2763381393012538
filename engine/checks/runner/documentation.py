"""Generates docs/checks.md from the registry: id, assertion, method and controls of every check.

python -m sovctl.engine.checks.runner.documentation docs/checks.md      # writes the file; a test compares it
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from sovctl.support.atomic_files import write_atomic

from ..definitions.registry import CHECKS
from ..model.check import Check

_HEAD = """\
# Checks

<!-- Generated from engine/checks/definitions/registry.py by
`python -m sovctl.engine.checks.runner.documentation docs/checks.md`: no edits. -->

What `sovctl verify` asserts of a site. A check looks at every node, or thing on a node, that it applies to by
`site.yaml` and the catalogue. TEST exercises something, EXAMINE reads it (NIST SP 800-53A). Controls are those of NIST
SP 800-53 Rev. 5 to which the answer is evidence for one part; it never decides a whole control. Expected numbers come
from `engine/catalog/`, each with unit, source, kind and date.

| check | what is asserted | method | controls |
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
