"""What the suite says of one case, as one JSON line; and the case that was never looked at."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sovctl.compliance.verdict import Verdict

from ..runner.targets import Case
from .check import Judgement, ProbeOutput


@dataclass(frozen=True)
class Result:
    """One case, looked at.

    Args:
        raw: exit code, standard output and standard error, as they are kept as evidence.
        simulated: None when the node could not be asked whether its hardware is real.
    """

    case_id: str
    command: str
    exit_code: int | None
    raw: bytes
    started: str
    ended: str
    verdict: Verdict
    reason: str
    simulated: bool | None

    def to_line(self) -> str:
        """One line of JSON."""
        values = {**vars(self), "raw": base64.b64encode(self.raw).decode(), "verdict": self.verdict.value}
        return json.dumps(values, ensure_ascii=True) + "\n"

    @classmethod
    def from_line(cls, line: str) -> Result:
        """The result that `to_line` wrote.

        Raises:
            KeyError, ValueError, TypeError: it is not one.
        """
        values: Mapping[str, Any] = json.loads(line)
        raw, verdict = base64.b64decode(values["raw"], validate=True), Verdict(values["verdict"])
        return cls(**{**values, "raw": raw, "verdict": verdict})


def raw_of(output: ProbeOutput) -> bytes:
    """An answer as evidence keeps it: three parts under headings, as they came."""
    code = "none" if output.exit_code is None else str(output.exit_code)
    return f"exit code: {code}\n--- standard output\n{output.stdout}\n--- standard error\n{output.stderr}\n".encode()


def result_of(
    case: Case,
    command: str,
    output: ProbeOutput,
    judgement: Judgement,
    *,
    started: str,
    ended: str,
    simulated: bool | None,
) -> Result:
    """A case with what came back and what it means."""
    return Result(
        case_id=case.id,
        command=command,
        exit_code=output.exit_code,
        raw=raw_of(output),
        started=started,
        ended=ended,
        verdict=judgement.verdict,
        reason=judgement.reason,
        simulated=simulated,
    )


def not_looked_at(case: Case, command: str, why: str, now: str) -> Result:
    """UNKNOWN: what was not measured is never healthy.

    Args:
        why: what stopped it, such as "interrupted".
    """
    judgement = Judgement(Verdict.UNKNOWN, f"expected the probe to run, got not measured: {why}")
    output = ProbeOutput(None, "", why)
    return result_of(case, command, output, judgement, started=now, ended=now, simulated=None)


def utc_now() -> str:
    """This moment in the form that evidence has."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
