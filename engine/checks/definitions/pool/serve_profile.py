"""pool.serve-profile: the running server has the flags and variables of the serve profile, and none that it excludes.

The profile is `engine/resources/serving/profile.py`, with reason and source of each row. `pool.flags-as-planned`
compares with the plan instead, so that a plan which omits a row of the profile is found here.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.unreadable import excerpt
from ....resources.serving.closed import media_findings, profile_findings
from ....resources.serving.profile import ABSENT_FLAGS, ABSENT_VARIABLES, FLAGS, TLS_FLAGS, VARIABLES
from ....spec import Node
from ...model.check import Check, Judgement, Method, Severity, failed, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections
from ._replicas import Expected
from ._vllm_process import commands, process_of, vllm_on

PERMITTED = frozenset({"kv-transfer-config", "VLLM_SERVER_DEV_MODE"})
"""Settings that the plan of a pair of prefill and decode, or of a swap group, contains."""


class ServeProfile(Check[Expected]):
    id, version, method = "pool.serve-profile", 2, Method.EXAMINE
    title = "the running server has the serve profile"
    controls = ("cm-6", "cm-7", "sc-7")
    severity = Severity.HIGH
    remedy = "run `sovctl plan` and `sovctl apply`, which restart the server with the planned flags and variables"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of every vLLM replica with a rank on the node."""
        return vllm_on(site, node)

    def probe(self, expected: Expected) -> Probe:
        """Print the unit and its process."""
        return Probe(commands(expected), timeout_s=60)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the process has every row that the profile requires, none that it excludes, and limit 0 for media
        that the site does not permit."""
        process = process_of(parse_sections(output), expected)
        if isinstance(process, Judgement):
            return process
        permitted = PERMITTED.intersection({*expected.flags, *expected.environment})
        findings = [
            failed(f"{wanted}, else {reason}", excerpt(found))
            for wanted, found, reason in profile_findings(*process, permitted=permitted)
        ]
        findings += [
            failed(f"{wanted}, else {reason}", excerpt(found))
            for wanted, found, reason in media_findings(process[0], expected.closed_media)
        ]
        present, absent = len({*FLAGS, *TLS_FLAGS, *VARIABLES}), len({*ABSENT_FLAGS, *ABSENT_VARIABLES})
        return worst(findings, otherwise=f"expected {present} settings and none of {absent} others, got this")
