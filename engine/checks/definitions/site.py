"""What the site itself must keep: a ledger that verifies, keys that only their owner can read, a root that lasts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from cryptography import x509

from ...facts.unreadable import Unreadable
from ..model.check import Expectation, Judgement, ProbeOutput, failed, unknown, warned, worst
from ..model.probe_sections import read_parts

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


OWNER_ONLY, GROUP_MAY_READ = 0o077, 0o027


@dataclass(frozen=True)
class PrivateFile:
    """A file that must be there, and closed.

    Args:
        forbidden_bits: permission bits it may not have: `OWNER_ONLY`, or `GROUP_MAY_READ` where a service's group may.
        owner: numeric user id; None: whoever runs the check.
    """

    path: str
    forbidden_bits: int = OWNER_ONLY
    owner: int | None = None


@dataclass(frozen=True, kw_only=True)
class KeysExpectation(Expectation):
    """Private files of one machine.

    Args:
        files: that must be there.
        patterns: (absolute folder, glob) of files that are private too, as far as there are any.
    """

    files: tuple[PrivateFile, ...]
    patterns: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class AuthorityExpectation(Expectation):
    """The root certificate of the site's authority, in PEM.

    Args:
        file: absolute path.
        needed_until: what it issues today is to last so long.
        wanted_until: before it ends earlier than this, there is time to replace it.
    """

    file: str
    needed_until: date
    wanted_until: date


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
    self_id = parts.text("self").strip()
    if not self_id.isdecimal():
        raise Unreadable("a user id", self_id, where="id -u")
    found = dict(_files(parts.text("files")))
    wanted = {each.path: each for each in expectation.files}
    findings = [unknown(f"{path} to be there", "no such file") for path in wanted if path not in found]
    for path, (mode, owner) in found.items():
        rule = wanted.get(path, PrivateFile(path))
        right_owner = self_id if rule.owner is None else str(rule.owner)
        if mode is None:
            findings.append(unknown(f"{path} to be there", "no such file"))
        elif mode & rule.forbidden_bits:
            findings.append(failed(f"{path} closed ({rule.forbidden_bits:04o} clear)", f"mode {mode:04o}"))
        elif owner != right_owner:
            findings.append(failed(f"{path} owned by user {right_owner}", f"user {owner}"))
    if not found:
        findings.append(unknown("private files", "none"))
    return worst(findings, otherwise=f"expected {len(found)} private files closed to others, got that")


def judge_authority(output: ProbeOutput, expectation: AuthorityExpectation) -> Judgement:
    """The root certificate lasts longer than what it issues, and long enough to be replaced in peace."""
    text = read_parts(output).text("certificate")
    try:
        last = x509.load_pem_x509_certificate(text.encode()).not_valid_after_utc.date()
    except ValueError:
        raise Unreadable("a certificate in PEM", text, where=expectation.file) from None
    if last < expectation.needed_until:
        return failed(f"a root certificate until {expectation.needed_until} at least", f"{last}: replace it now")
    if last < expectation.wanted_until:
        return warned(f"a root certificate until {expectation.wanted_until}", f"{last}: plan to replace it")
    return worst((), otherwise=f"expected a root certificate until {expectation.wanted_until}, got {last}")


def _files(text: str) -> Iterator[tuple[str, tuple[int | None, str]]]:
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None:
            raise Unreadable("`mode owner path`", line, where="stat")
        mode = None if match["mode"] == "absent" else int(match["mode"], 8)
        yield match["path"], (mode, match["owner"])
