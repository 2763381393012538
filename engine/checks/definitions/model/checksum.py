"""model.checksum: the model's folder has exactly the files of its manifest, with their SHA-256.

The manifest itself is the one whose SHA-256 is in site.yaml. A file that is not in the manifest fails the check,
because an inference engine may load any file in the folder.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....facts.unreadable import Unreadable, excerpt
from ....resources.software import model as model_resource
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Level, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

STORE = "/srv/sovctl/models"
OTHER_TYPES = "links-and-devices:"
"""First line of the list of entries that are neither file nor folder; distinguishes an empty list from no output."""
_TIMEOUT_S = 3 * 3600  # 700 GB at 100 MB/s, the slowest store that is expected, take two hours
_PARALLEL_READERS = 4  # SHA-256 reads about 2 GB/s per core; four saturate an NVMe and leave cores to the pool
_LINE = re.compile(r"^([0-9a-f]{64})  (?:\./)?(\S.*)$")
_DIGEST = re.compile(r"^([0-9a-f]{64})  -$")


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """From `site.yaml: models[]`; the subject is the model's name."""

    manifest_sha256: str


class ModelChecksum(Check[Expected]):
    id, version, method = "model.checksum", 1, Method.TEST
    title = "the model's files match the SHA-256 values of its manifest"
    controls = ("cm-14", "si-7", "si-7.1", "sr-11")
    severity = Severity.CRITICAL
    level = Level.FULL
    remedy = "run `sovctl plan` and `sovctl apply`, which copy the model again"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect every model that a pool on the node serves, and its adapters."""
        for folder in model_resource.folders(site.context, node):
            yield Expected(subject=folder.name, manifest_sha256=folder.manifest_sha256)

    def probe(self, expected: Expected) -> Probe:
        """Hash every byte of the model on the node."""
        folder = shlex.quote(f"{STORE}/{expected.subject}")
        found = "find . -type f ! -path ./MANIFEST ! -path ./.verified -print0"
        files = f"{found} | xargs -0 -r -n 1 -P {_PARALLEL_READERS} sha256sum"
        return Probe(
            {
                "manifest_sha256": f"sha256sum < {folder}/MANIFEST",
                "manifest": f"cat {folder}/MANIFEST",
                "files": f"cd {folder} && {files}",
                "strange": f"cd {folder} && echo {OTHER_TYPES} && find . ! -type f ! -type d -print",
            },
            timeout_s=_TIMEOUT_S,
        )

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the manifest has the expected SHA-256, and lists exactly the files of the folder."""
        sections = parse_sections(output)
        digest = _DIGEST.match(sections.text("manifest_sha256").strip())
        if digest is None:
            raise Unreadable("a SHA-256", sections.text("manifest_sha256"), where="sha256sum")
        if digest[1] != expected.manifest_sha256:
            return failed(f"manifest {expected.manifest_sha256}", digest[1])
        listed, found = _sums(sections.text("manifest"), "MANIFEST"), _sums(sections.text("files"), "sha256sum")
        if not listed:
            raise Unreadable("files in the manifest", "", where="MANIFEST")
        head, *others = sections.text("strange").splitlines() or [""]
        if head != OTHER_TYPES:
            raise Unreadable(OTHER_TYPES, head, where="find")
        findings = [*_differences(listed, found), *(failed("only files and folders", excerpt(name)) for name in others)]
        return worst(
            findings,
            otherwise=f"expected manifest {expected.manifest_sha256[:16]}… and its {len(listed)} files, "
            "got the same SHA-256 for all",
        )


def _differences(listed: Mapping[str, str], found: Mapping[str, str]) -> Iterator[Judgement]:
    for name, digest in listed.items():
        got = found.get(name)
        if got != digest:
            yield failed(f"{name} with SHA-256 {digest[:16]}…", f"{got[:16]}…" if got else "no such file")
    for name in sorted(set(found) - set(listed)):
        yield failed("only files of the manifest", name)


def _sums(text: str, where: str) -> dict[str, str]:
    sums: dict[str, str] = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None or match[2] in sums:
            raise Unreadable("`sha256  path`, each path once", line, where=where)
        sums[match[2]] = match[1]
    return sums
