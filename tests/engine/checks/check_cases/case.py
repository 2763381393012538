"""The form of the cases of a check: what it expects, a good answer, and bad answers with their verdicts.

Answers have the form that `Probe.command` prints; `test_check_probes` compares them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from sovctl.compliance.verdict import Verdict
from sovctl.engine.checks.model.check import Expectation
from sovctl.engine.checks.model.probe import ProbeOutput

FAIL, UNKNOWN, WARN, NOT_APPLICABLE = Verdict.FAIL, Verdict.UNKNOWN, Verdict.WARN, Verdict.NOT_APPLICABLE


@dataclass(frozen=True)
class Bad:
    """An answer that must not pass: parts that differ from the good answer, the verdict, a word of the reason."""

    parts: Mapping[str, str | tuple[int, str]]
    verdict: Verdict
    word: str


@dataclass(frozen=True)
class Sample:
    """One check's answers.

    Args:
        good: text of every part that the check reads, and of no other.
        bad: answers by name.
        essential: words; without the first line that holds one, the good answer is none.
    """

    expectation: Expectation
    good: Mapping[str, str | tuple[int, str]]
    bad: Mapping[str, Bad]
    essential: tuple[str, ...] = field(default=())


def answer(parts: Mapping[str, str | tuple[int, str]]) -> ProbeOutput:
    """As the probe's shell prints it."""
    out = []
    for name, part in parts.items():
        code, text = part if isinstance(part, tuple) else (0, part)
        out.append(f"=== sovctl begin {name}\n{text}\n=== sovctl end {name} {code}\n")
    return ProbeOutput(0, "".join(out), "")


def lines(*rows: object) -> str:
    """JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


FM_UNIT = "Id=nvidia-fabricmanager.service\nLoadState=loaded\nActiveState=active\nSubState=running\nMainPID=77\n"


DEAD_UNIT = FM_UNIT.replace("active\nSubState=running", "failed\nSubState=failed")


BOOT_ID = "11111111-2222-4333-8444-555555555555"


def boot(uptime_s: float = 36000.0) -> str:
    """Section of the boot, ten hours after it."""
    return f"{BOOT_ID}\n{uptime_s:.2f} 70000.00\n"


A, B, C = "a" * 64, "b" * 64, "c" * 64
