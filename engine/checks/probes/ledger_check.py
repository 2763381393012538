"""Verification of a ledger with `sovctl audit verify`: the gateway's on its node, the site's on the controller."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass

from sovctl.support.errors import ExitCode

from ...facts.unreadable import MALFORMED, Unreadable
from ..model.check import Check, Expectation, Judgement, failed, unknown, worst
from ..model.probe import Probe, ProbeOutput
from ..model.probe_sections import parse_sections


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """A ledger and the `sovctl` that verifies it, both on the same machine.

    Args:
        program: absolute path of `sovctl`.
        directory: of the ledger.
        origin: the origin line of its checkpoints.
    """

    program: str
    directory: str
    origin: str


class LedgerCheck(Check[Expected]):
    """Probe and judge; a subclass states which ledger it verifies."""

    def probe(self, expected: Expected) -> Probe:
        """Verify the ledger with the command that an auditor uses."""
        words = [
            "env",
            "PYTHONDONTWRITEBYTECODE=1",
            expected.program,
            "audit",
            "verify",
            "--ledger",
            expected.directory,
            "--json",
        ]
        return Probe({"verify": shlex.join(words)}, timeout_s=1800)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the document and the exit code both report an undamaged ledger with the expected origin."""
        section = parse_sections(output).section("verify")
        try:
            result = json.loads(section.text)["ledger"]
            entries, findings, origin = int(result["entries"]), list(result["findings"]), str(result["origin"])
            is_whole, signed = result["is_whole"], int(result["signed_size"])
        except MALFORMED:
            raise Unreadable("the document of `sovctl audit verify --json`", section.text, where="sovctl") from None
        if findings or is_whole is not True:
            kinds = ", ".join(sorted({str(each.get("kind")) for each in findings})) or "damage"
            return failed("an undamaged ledger", kinds)
        if section.exit_code not in (ExitCode.OK, ExitCode.UNPROVEN):  # the probe has no checkpoint kept elsewhere
            return unknown("exit code 0 or 8 for an undamaged ledger", str(section.exit_code))
        if origin != expected.origin:
            return failed(f"the ledger of {expected.origin}", origin)
        if entries == 0 or signed == 0:
            return unknown("signed entries", f"{entries} entries, {signed} signed")
        return worst((), otherwise=f"expected an undamaged ledger, got {entries} entries, {signed} of them signed")
