"""disk.mounts-as-planned: the file systems of site.yaml are mounted with their type, size, options and RAID level."""

from __future__ import annotations

from ....facts.host.storage import parse_lsblk
from ...model.check import Judgement, Method, Severity, failed, worst
from ...model.probe_sections import ProbeSections
from ._mounts import Expected, MountsCheck, mounted


class MountsAsPlanned(MountsCheck):
    id, version, method = "disk.mounts-as-planned", 1, Method.EXAMINE
    title = "the file systems of site.yaml are mounted as planned"
    controls = ("cm-2", "cm-6", "cp-9")
    severity = Severity.HIGH
    remedy = "mount the file system as `host.mounts` of site.yaml describes it, and add it to /etc/fstab"

    def judge_machine(self, sections: ProbeSections, expected: Expected) -> Judgement:
        """Pass if every file system has the planned properties."""
        found, types = mounted(sections), parse_lsblk(sections.text("lsblk"))
        findings = []
        for mount in expected.mounts:
            got = found.get(mount.path)
            if got is None:
                findings.append(failed(f"a file system at {mount.path}", "none"))
                continue
            if mount.filesystem and got.filesystem != mount.filesystem:
                findings.append(failed(f"{mount.filesystem} at {mount.path}", got.filesystem))
            if got.size_bytes < mount.min_size_gib << 30:
                findings.append(failed(f"{mount.min_size_gib} GiB at {mount.path}", f"{got.size_bytes >> 30} GiB"))
            missing = [option for option in mount.options if option not in got.options]
            findings += [failed(f"option {option} at {mount.path}", "none") for option in missing]
            if mount.raid and mount.raid not in types.get(got.source, ()):
                findings.append(
                    failed(f"{mount.raid} below {mount.path}", " on ".join(types.get(got.source, ())) or "none")
                )
        return worst(findings, otherwise=f"expected {len(expected.mounts)} file systems as planned, got all")
