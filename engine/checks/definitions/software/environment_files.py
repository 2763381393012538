"""software.environment-files: every file of a Python environment has the SHA-256 that apply recorded.

The manifest on the node is the one whose SHA-256 the controller recorded after the build. An added or a removed file, a
changed link, mode or owner fails the check too.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.trees import parse_trees
from ....facts.unreadable import Unreadable
from ....resources.resource import CREATED_BY_APPLY
from ....resources.software.environment import MANIFEST, ROOT, wanted_on
from ....resources.software.tree import command, tree_id
from ....spec import Node
from ...model.check import Check, Expectation, Judgement, Level, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

_TIMEOUT_S = 1800  # an environment with CUDA libraries has 10 GB; a slow disk reads 10 MB/s


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """The record of the last apply; the subject is the name of the environment.

    Args:
        root: real path of the folder; empty if no apply has recorded it.
    """

    root: str
    manifest_sha256: str


class EnvironmentFiles(Check[Expected]):
    id, version, method = "software.environment-files", 1, Method.TEST
    title = "every file of a Python environment is unchanged since its installation"
    controls = ("cm-14", "cm-5", "si-7", "si-7.1", "sr-11")
    severity = Severity.CRITICAL
    level = Level.FULL
    remedy = "run `sovctl plan` and `sovctl apply`, which install the environment again"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every environment that the node requires."""
        for wanted in wanted_on(site.context, node):
            record = site.context.tree(node, tree_id("environment", wanted.name))
            yield Expected(subject=wanted.name, root=record.root, manifest_sha256=record.manifest_sha256)

    def probe(self, expected: Expected) -> Probe:
        """Hash every file of the environment on the node."""
        return Probe(
            {"files": shlex.join(command("verify", MANIFEST, [f"{ROOT}/{expected.subject}"]))},
            timeout_s=_TIMEOUT_S,
        )

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the manifest is the recorded one, and the folder is exactly as it lists."""
        text = parse_sections(output).text("files")
        trees = list(parse_trees(text).values())
        if len(trees) != 1:
            raise Unreadable("one environment", text, where="trees_probe")
        tree = trees[0]
        if expected.manifest_sha256 == CREATED_BY_APPLY:
            return unknown("a manifest that apply recorded", "none; run sovctl plan and sovctl apply")
        findings = [failed("the recorded file", line) for line in tree.changed]
        if tree.manifest_sha256 != expected.manifest_sha256:
            findings.append(failed(f"manifest {expected.manifest_sha256}", str(tree.manifest_sha256)))
        if tree.root != expected.root:
            findings.append(failed(f"a link to {expected.root}", tree.root))
        return worst(
            findings,
            otherwise=f"expected manifest {expected.manifest_sha256[:16]}… and its {tree.entries} entries, "
            "got the same for all",
        )
