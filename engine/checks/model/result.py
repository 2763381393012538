"""The result of one target, and its form as one JSON line between a pytest process and `sovctl verify`."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sovctl.compliance.verdict import Verdict

from .check import Judgement, Rule
from .probe import ProbeOutput
from .target import CheckTarget


@dataclass(frozen=True)
class Result:
    """The measurement and the verdict of one target.

    Args:
        target_id: `CheckTarget.id`.
        raw: exit code, standard output and standard error in the form that is stored as evidence.
        started, ended: UTC, ISO 8601 with milliseconds.
        simulated: None if the node did not report whether its hardware is simulated.
    """

    target_id: str
    command: str
    exit_code: int | None
    raw: bytes
    started: str
    ended: str
    verdict: Verdict
    reason: str
    simulated: bool | None
    rule: Rule = Rule.JUDGE

    def to_line(self) -> str:
        """Return one line of JSON."""
        values = {**vars(self), "raw": base64.b64encode(self.raw).decode(), "verdict": self.verdict.value}
        return json.dumps(values, ensure_ascii=True) + "\n"

    @classmethod
    def from_line(cls, line: str) -> Result:
        """Parse a line of `to_line`.

        Raises:
            KeyError, ValueError, TypeError: the line has another form.
        """
        values: Mapping[str, Any] = json.loads(line)
        raw, verdict = base64.b64decode(values["raw"], validate=True), Verdict(values["verdict"])
        return cls(**{**values, "raw": raw, "verdict": verdict, "rule": Rule(values["rule"])})


def raw_of(output: ProbeOutput) -> bytes:
    """Return the output in the form that is stored as evidence: exit code, then both streams unchanged."""
    code = "none" if output.exit_code is None else str(output.exit_code)
    return f"exit code: {code}\n--- standard output\n{output.stdout}\n--- standard error\n{output.stderr}\n".encode()


def output_of(raw: bytes) -> ProbeOutput:
    """Return the output of `raw_of`."""
    code, _, rest = raw.decode("utf-8", "replace").removeprefix("exit code: ").partition("\n--- standard output\n")
    stdout, _, stderr = rest.rpartition("\n--- standard error\n")
    return ProbeOutput(None if code == "none" else int(code), stdout, stderr.removesuffix("\n"))


def result_of(
    target: CheckTarget,
    command: str,
    output: ProbeOutput,
    judgement: Judgement,
    *,
    started: str,
    ended: str,
    simulated: bool | None,
) -> Result:
    """Return the result of a target that was measured."""
    return Result(
        target_id=target.id,
        command=command,
        exit_code=output.exit_code,
        raw=raw_of(output),
        started=started,
        ended=ended,
        verdict=judgement.verdict,
        reason=judgement.reason,
        simulated=simulated,
        rule=judgement.rule,
    )


def not_measured(target: CheckTarget, command: str, why: str, now: str) -> Result:
    """Return UNKNOWN for a target that was not measured.

    Args:
        why: the cause, such as "interrupted".
    """
    judgement = Judgement(Verdict.UNKNOWN, f"expected the probe to run, got not measured: {why}", Rule.NOT_MEASURED)
    output = ProbeOutput(None, "", why)
    return result_of(target, command, output, judgement, started=now, ended=now, simulated=None)


def utc_now() -> str:
    """Return the current time in the form of evidence."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
