"""site.keys-private: only their owner, and on nodes the service's group, can read private keys and secrets."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.unreadable import Unreadable
from ....resources.credential import ROOT, credentials_on
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

OWNER_ONLY, GROUP_MAY_READ = 0o077, 0o027
_LINE = re.compile(r"^(?P<mode>[0-7]{3,4}|absent) (?P<owner>\S+) (?P<path>/.+)$")


@dataclass(frozen=True)
class PrivateFile:
    """A file that must exist and be private.

    Args:
        forbidden_bits: bits that must be clear: `OWNER_ONLY`, or `GROUP_MAY_READ` for a service's group.
        owner: numeric user id; None: the user that runs the probe.
    """

    path: str
    forbidden_bits: int = OWNER_ONLY
    owner: int | None = None


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Private files of one machine.

    Args:
        files: files that must exist.
        patterns: (absolute folder, glob) of further private files; a pattern may match none.
    """

    files: tuple[PrivateFile, ...]
    patterns: tuple[tuple[str, str], ...] = ()


class KeysPrivate(Check[Expected]):
    id, version, method = "site.keys-private", 1, Method.EXAMINE
    title = "private keys and secrets are readable only by their owner and their service"
    controls = ("ac-6", "ia-5.6", "sc-12")
    severity = Severity.CRITICAL
    remedy = "correct owner and mode with `chown` and `chmod`; replace a key that others could read"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Nodes with private files: owned by the user of a service, or by root and readable by a service's group."""
        files = [
            PrivateFile(each.path, forbidden_bits=GROUP_MAY_READ, owner=each.uid)
            if each.owner == ROOT
            else PrivateFile(each.path, owner=each.uid)
            for each in credentials_on(site.context, node)
            if not each.path.endswith(".pem")
        ]
        if files:
            yield Expected(files=tuple(files))

    def expect_controller(self, site: CheckContext) -> Iterator[Expected]:
        """Private files of the operator."""
        yield Expected(
            files=tuple(PrivateFile(path) for path in site.controller.private_files),
            patterns=site.controller.private_patterns,
        )

    def probe(self, expected: Expected) -> Probe:
        """Print mode and owner of the files; their contents are not read."""
        files = " ".join(shlex.quote(each.path) for each in expected.files)
        patterns = " ".join(f"{shlex.quote(folder)}/{glob}" for folder, glob in expected.patterns)
        listing = f"""for f in {files}; do stat -c "%a %u %n" "$f" 2>/dev/null || echo "absent - $f"; done
for f in {patterns}; do [ ! -f "$f" ] || stat -c "%a %u %n" "$f"; done"""
        return Probe.of(self="id -u", files=listing)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every file exists with the right owner, and no other user can read or replace it."""
        sections = parse_sections(output)
        self_id = sections.text("self").strip()
        if not self_id.isdecimal():
            raise Unreadable("a user id", self_id, where="id -u")
        found = dict(_parse_files(sections.text("files")))
        rules = {each.path: each for each in expected.files}
        findings = [unknown(f"{path} to exist", "no such file") for path in rules if path not in found]
        for path, (mode, owner) in found.items():
            rule = rules.get(path, PrivateFile(path))
            right_owner = self_id if rule.owner is None else str(rule.owner)
            if mode is None:
                findings.append(unknown(f"{path} to exist", "no such file"))
            elif mode & rule.forbidden_bits:
                findings.append(failed(f"{path} without permission bits {rule.forbidden_bits:04o}", f"mode {mode:04o}"))
            elif owner != right_owner:
                findings.append(failed(f"{path} owned by user {right_owner}", f"user {owner}"))
        if not found:
            findings.append(unknown("private files", "none"))
        return worst(findings, otherwise=f"expected {len(found)} private files, got none readable for other users")


def _parse_files(text: str) -> Iterator[tuple[str, tuple[int | None, str]]]:
    """Yield path, mode and owner; the mode is None for an absent file."""
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None:
            raise Unreadable("`mode owner path`", line, where="stat")
        mode = None if match["mode"] == "absent" else int(match["mode"], 8)
        yield match["path"], (mode, match["owner"])
