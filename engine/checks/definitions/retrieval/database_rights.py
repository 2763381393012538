"""retrieval.database-rights: the database refuses what the retrieval service must not do.

The program of the service connects with its own role: a direct SELECT and a forged claim are refused, row level
security is forced on all tables, and no role bypasses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....facts.unreadable import Unreadable
from ....resources.retrieval.service import CONFIG
from ....resources.software.environment import GATEWAY, ROOT
from ....spec import Node
from ....spec.service_accounts import RETRIEVAL_USER
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, unknown, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

RIGHTS = (
    "the database accepts a claim of the service",
    "the service's role has no attribute that bypasses rights, and is in no other role",
    "owner and reader cannot log in and bypass no row-level security",
    "row-level security is enabled and forced on every table",
    "the service's role has no right on a table",
    "the service's role can create nothing",
    "the service's role can execute the entry points only",
    "the database refuses a forged claim",
)
"""Lines of `python -m sovctl.gateway.retrieval check`, as in `gateway/retrieval/database/checks.py`."""
_COMMAND = (
    f"runuser -u {RETRIEVAL_USER} -- {ROOT}/{GATEWAY}/bin/python -m sovctl.gateway.retrieval check --config={CONFIG} "
    "2>/dev/null || true"
)
_STATES = ("passed", "failed")


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """From the program of the service.

    Args:
        rights: lines that must pass.
    """

    rights: tuple[str, ...]


class DatabaseRights(Check[Expected]):
    id, version, method = "retrieval.database-rights", 1, Method.TEST
    title = "the database of retrieval refuses direct reads, forged claims and bypasses of row level security"
    controls = ("ac-3", "ac-6", "sc-4")
    severity = Severity.CRITICAL
    remedy = "stop sovctl-retrieval; `sovctl plan` shows changed roles, and `sovctl apply` restores tables and rights"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of the node of `retrieval`."""
        if site.context.is_retrieval(node):
            yield Expected(rights=RIGHTS)

    def probe(self, expected: Expected) -> Probe:
        """Run the program's checks as the user of the service."""
        return Probe({"rights": _COMMAND}, timeout_s=60)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if every right was tested, and passed."""
        found: dict[str, str] = {}
        for line in parse_sections(output).text("rights").splitlines():
            state, _, name = line.partition("  ")
            if state not in _STATES or not name:
                raise Unreadable("`passed` or `failed`, and a name", line, where="sovctl.gateway.retrieval check")
            found[name] = state
        findings: list[Judgement] = [failed(name, "not so") for name, state in found.items() if state == "failed"]
        findings += [unknown(name, "not tested") for name in expected.rights if name not in found]
        return worst(findings, otherwise=f"expected {len(expected.rights)} refusals and rights, got all of them")
