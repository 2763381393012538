"""What the site itself must keep: a ledger that verifies, and keys that only their owner can read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from sovctl.engine.checks.model import Expectation, Judgement, ProbeOutput, failed, unknown, worst
from sovctl.engine.checks.parts import read_parts
from sovctl.engine.facts.unreadable import Unreadable

_LINE = re.compile(r"^(?P<mode>[0-7]{3,4}|absent) (?P<owner>\S+) (?P<path>/.+)$")


@dataclass(frozen=True, kw_only=True)
class LedgerExpectation(Expectation):
    """A ledger, and the `sovctl` that verifies it, on the machine where it lies.

    Args:
        program: absolute path of `sovctl` there.
        directory: of the ledger.
        origin: the name that its checkpoints must bear.
    """

    program: str
    directory: str
    origin: str


@dataclass(frozen=True, kw_only=True)
class KeysExpectation(Expectation):
    """Private files of one machine.

    Args:
        files: absolute paths that must be there.
        patterns: (absolute folder, glob) of files that are private too, as far as there are any.
        forbidden_bits: permission bits that no file may have: 0o077 where only the owner may read, 0o027 where the
            service's group may.
        owner: numeric user id that must own them; None: whoever runs the check.
    """

    files: tuple[str, ...]
    patterns: tuple[tuple[str, str], ...]
    forbidden_bits: int
    owner: int | None = None


def judge_ledger(output: ProbeOutput, expectation: LedgerExpectation) -> Judgement:
    """Every entry is under the signed root; `sovctl audit verify` says so, in its words and in its exit code."""
    part = read_parts(output).part("verify")
    try:
        result = json.loads(part.text)["ledger"]
        entries, findings, origin = int(result["entries"]), list(result["findings"]), str(result["origin"])
        is_whole, signed = result["is_whole"], int(result["signed_size"])
    except (ValueError, KeyError, TypeError):
        raise Unreadable("the document of `sovctl audit verify --json`", part.text, where="sovctl") from None
    if findings or is_whole is not True:
        kinds = ", ".join(sorted({str(each.get("kind")) for each in findings})) or "not whole"
        return failed("a whole ledger", kinds)
    if part.exit_code != 0:
        return unknown("exit code 0 of a whole ledger", str(part.exit_code))
    if origin != expectation.origin:
        return failed(f"the ledger of {expectation.origin}", origin)
    if entries == 0 or signed == 0:
        return unknown("signed entries", f"{entries} entries, {signed} signed")
    return worst((), otherwise=f"expected a whole ledger, got {entries} entries, {signed} under the signed root")


def judge_keys(output: ProbeOutput, expectation: KeysExpectation) -> Judgement:
    """No private file can be read, or replaced, by others."""
    parts = read_parts(output)
    owner = str(expectation.owner) if expectation.owner is not None else parts.text("self").strip()
    if not owner.isdecimal():
        raise Unreadable("a user id", owner, where="id -u")
    found = dict(_files(parts.text("files")))
    findings = [unknown(f"{path} to be there", "no such file") for path in expectation.files if path not in found]
    for path, (mode, got_owner) in found.items():
        if mode is None:
            findings.append(unknown(f"{path} to be there", "no such file"))
        elif mode & expectation.forbidden_bits:
            findings.append(failed(f"{path} closed ({expectation.forbidden_bits:04o} clear)", f"mode {mode:04o}"))
        elif got_owner != owner:
            findings.append(failed(f"{path} owned by user {owner}", f"user {got_owner}"))
    if not found:
        findings.append(unknown("private files", "none"))
    return worst(findings, otherwise=f"expected {len(found)} private files closed to others, got that")


def _files(text: str) -> Iterator[tuple[str, tuple[int | None, str]]]:
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None:
            raise Unreadable("`mode owner path`", line, where="stat")
        mode = None if match["mode"] == "absent" else int(match["mode"], 8)
        yield match["path"], (mode, match["owner"])
