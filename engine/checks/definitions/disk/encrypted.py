"""disk.encrypted: the file systems that site.yaml wants encrypted are on an active LUKS device."""

from __future__ import annotations

from ....facts.host.storage import parse_lsblk
from ...model.check import Judgement, Method, Severity, failed, unknown, worst
from ...model.probe_sections import ProbeSections
from ._mounts import Expected, MountsCheck, mounted


class DiskEncrypted(MountsCheck):
    id, version, method = "disk.encrypted", 1, Method.EXAMINE
    title = "file systems with prompts and keys are encrypted"
    controls = ("sc-28", "sc-28.1")
    severity = Severity.CRITICAL
    remedy = "move the data to a LUKS device; sovctl never encrypts a disk"
    encrypted_only = True

    def judge_machine(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Pass if lsblk shows a device of type crypt below each, and the device mapper has as many LUKS devices."""
        found, types = mounted(sections), parse_lsblk(sections.text("lsblk"))
        findings = []
        for mount in expected.mounts:
            got = found.get(mount.path)
            below = types.get(got.source, ()) if got else ()
            if got is None:
                findings.append(unknown(f"a file system at {mount.path}", "none"))
            elif not below:
                findings.append(unknown(f"the devices below {mount.path}", got.source))
            elif "crypt" not in below:
                findings.append(failed(f"encryption below {mount.path}", " on ".join(below)))
        luks = [line for line in sections.text("mapper").splitlines() if line.startswith("CRYPT-LUKS")]
        if not luks:
            findings.append(failed("a LUKS device in the device mapper", "none"))
        return worst(findings, otherwise=f"expected encryption of {len(expected.mounts)} file systems, got it for all")
