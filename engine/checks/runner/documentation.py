"""Generates docs/checks.md from the definitions of the checks.

python -m sovctl.engine.checks.runner.documentation docs/checks.md      # writes the file; a test compares it
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from sovctl.support.atomic_files import write_atomic

from ...catalog.check_limits import CheckLimit, load_check_limits
from .. import definitions
from ..model.check import Check, Severity
from ..registry import CHECKS, TOPICS

_HEAD = """\
# Checks

<!-- Generated from engine/checks/definitions/ by
`python -m sovctl.engine.checks.runner.documentation docs/checks.md`: no edits. -->

`sovctl verify` runs these checks. `site.yaml` and the catalogue determine the nodes, and the objects on a node, that a
check applies to. Expected numbers are in `engine/catalog/`, each with unit, source, kind and date. The check
`topic.words-of-it` is defined in `engine/checks/definitions/topic/words_of_it.py`.

- **Verdicts.** PASS; FAIL: measured, and not as expected; WARN: an operator should review it; UNKNOWN: not measured,
  which blocks as FAIL does; N/A: the part does not exist.
- **Level.** `quick`: seconds, read-only. `full`: minutes, with load on GPUs and links. `burn-in`: hours. A level
  contains the levels before it.
- **Severity** of a failure. {severities}
- **Evidence.** Method of NIST SP 800-53A (TEST exercises a component, EXAMINE reads its configuration), and controls of
  NIST SP 800-53 Rev. 5. The result of a check is evidence for a part of each control, not for the whole control.
"""

_LIMITS_HEAD = """\
Limits that are the same on every platform, from `engine/catalog/check_limits.yaml`. Rates of counters compare with the
reading of an earlier run, which `.sovctl/counters/` keeps for the longest period of the check's limits. A reading of an
earlier boot, or of the boot grace, is not compared: then the period begins with the boot.

`verify.limits` of `site.yaml` changes a limit with the note "stricter: ..." in that direction. A looser value needs a
waiver in `verify.waivers`. A finding that only a waiver accepts is WARN, and its reason names the waiver.
"""
_SEVERITIES = {
    Severity.CRITICAL: "data can leave, be read or be falsified, or a GPU computes wrong results",
    Severity.HIGH: "a node, a pool or a gateway cannot serve as planned",
    Severity.MEDIUM: "it serves slower, or without spare capacity",
    Severity.LOW: "no effect on users today",
}


def page() -> str:
    """Return the page."""
    severities = "; ".join(f"`{name}`: {meaning}" for name, meaning in _SEVERITIES.items())
    head = _HEAD.replace("{severities}", f"{severities}.")
    return head + "".join(_section(topic) for topic in TOPICS) + _limits()


def _limits() -> str:
    """Return the table of the limits that are the same on every platform."""
    rows = "".join(
        f"| `{each.id}` | {each.value} {each.unit} | {each.means}{_direction(each)} | "
        f"{each.kind}: {each.source} ({each.date}) |\n"
        for each in load_check_limits().values()
    )
    return f"\n## Limits\n\n{_LIMITS_HEAD}\n| limit | value | finding | source |\n|---|---|---|---|\n{rows}"


def _direction(each: CheckLimit) -> str:
    return f"; stricter: {each.stricter}" if each.stricter else ""


def _section(topic: str) -> str:
    title = (importlib.import_module(f"{definitions.__name__}.{topic}").__doc__ or "").strip().splitlines()[0]
    rows = "".join(
        f"| {_ids(check)} | {check.title} | {check.severity} | {check.level} | {check.remedy} | "
        f"{check.method}: {', '.join(map(_control, check.controls))} |\n"
        for check in CHECKS
        if check.id.startswith(f"{topic}.")
    )
    head = "| check | assertion | severity | level | after FAIL | evidence |\n|---|---|---|---|---|---|\n"
    return f"\n## {topic}\n\n{title}\n\n{head}{rows}"


def _ids(check: Check[Any]) -> str:
    former = ", ".join(f"`{each}`" for each in check.former_ids)
    return f"`{check.id}`" + (f" (formerly {former})" if former else "")


def _control(name: str) -> str:
    """Return a control in the spelling of NIST: SC-7(5) for `sc-7.5`."""
    family, _, enhancement = name.upper().partition(".")
    return f"{family}({enhancement})" if enhancement else family


if __name__ == "__main__":
    write_atomic(Path(sys.argv[1]), page())
