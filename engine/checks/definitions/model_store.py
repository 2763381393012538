"""Model weights: every file is the one that the manifest names, and the manifest is the one that site.yaml names.

A file that the manifest does not name is as wrong as one that was changed: an engine may load whatever lies there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...facts.unreadable import Unreadable, excerpt
from ..model.check import Expectation, Judgement, ProbeOutput, failed, worst
from ..model.probe_sections import read_parts

STORE = "/srv/sovctl/models"
STRANGE = "links-and-devices:"
"""Heads the list of what is neither file nor folder, so that an empty list is still an answer."""
_LINE = re.compile(r"^([0-9a-f]{64})  (?:\./)?(\S.*)$")
_DIGEST = re.compile(r"^([0-9a-f]{64})  -$")


@dataclass(frozen=True, kw_only=True)
class ModelExpectation(Expectation):
    """From `site.yaml: models[]`; the subject is the model's name."""

    manifest_sha256: str


def judge_checksum(output: ProbeOutput, expectation: ModelExpectation) -> Judgement:
    """Full SHA-256 of every file against the manifest."""
    parts = read_parts(output)
    digest = _DIGEST.match(parts.text("manifest_sha256").strip())
    if digest is None:
        raise Unreadable("a SHA-256", parts.text("manifest_sha256"), where="sha256sum")
    if digest[1] != expectation.manifest_sha256:
        return failed(f"manifest {expectation.manifest_sha256}", digest[1])
    listed, found = _sums(parts.text("manifest"), "MANIFEST"), _sums(parts.text("files"), "sha256sum")
    if not listed:
        raise Unreadable("files in the manifest", "", where="MANIFEST")
    head, *strange = parts.text("strange").splitlines() or [""]
    if head != STRANGE:
        raise Unreadable(STRANGE, head, where="find")
    findings = [*_differences(listed, found), *(failed("only files and folders", excerpt(name)) for name in strange)]
    return worst(
        findings,
        otherwise=f"expected manifest {expectation.manifest_sha256[:16]}… and its {len(listed)} files, "
        "got every one of them by SHA-256",
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
