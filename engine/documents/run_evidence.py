"""Evidence of one run, by check and target. Pure.

Evidence counts only if it belongs to the current site.yaml; otherwise every value from it is not collected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sovctl.compliance.documents.document import Collected, NotCollected, Value
from sovctl.compliance.evidence.runs import EvidenceRun
from sovctl.compliance.evidence.store import StoredEvidence
from sovctl.compliance.verdict import Verdict

from ..checks.model.probe_sections import ProbeSections, parse_sections
from ..checks.model.result import output_of

_VERIFY = "run `sovctl verify`"


@dataclass(frozen=True)
class RunEvidence:
    """The records of one run.

    Args:
        records: by check id, in ledger order; empty without usable evidence.
        absent: reason why no record is usable; empty otherwise.
        read_raw: returns the raw output of a record by its SHA-256.
    """

    run_id: str
    records: Mapping[str, tuple[StoredEvidence, ...]]
    absent: str
    read_raw: Callable[[str], bytes]

    @property
    def simulated(self) -> bool:
        """Whether any record is from simulated hardware."""
        return any(each.evidence.simulated for found in self.records.values() for each in found)

    def of(self, check_id: str, target: str) -> StoredEvidence | None:
        """Return the record with the worst verdict of a check on one target; None without one."""
        found = [each for each in self.records.get(check_id, ()) if each.evidence.target == target]
        return min(found, key=lambda each: _WORST.index(each.evidence.verdict), default=None)

    def below(self, check_id: str, node: str) -> tuple[StoredEvidence, ...]:
        """Return the records of a check on the components of a node, such as `n1/chat`."""
        return tuple(each for each in self.records.get(check_id, ()) if each.evidence.target.partition("/")[0] == node)

    def sections(self, record: StoredEvidence) -> ProbeSections:
        """Return the output of a record by section."""
        return parse_sections(output_of(self.read_raw(record.evidence.raw_sha256)))

    def verdict(self, check_id: str, target: str) -> Collected:
        """Return verdict and reason of a check on one target."""
        record = self.of(check_id, target)
        if record is None:
            return self.none_of(check_id, target)
        evidence = record.evidence
        return Value(f"{evidence.verdict.value}: {evidence.reason}", source_of(record), evidence.simulated)

    def none_of(self, check_id: str, target: str) -> NotCollected:
        """Return the reason why a check has no record on a target."""
        if self.absent:
            return NotCollected(self.absent, _VERIFY)
        return NotCollected(f"run {self.run_id} has no record of {check_id} on {target}", _VERIFY)

    def measure(self, checks: Iterable[str]) -> Collected:
        """Return the verdicts of several checks over all their targets, one line for each check."""
        if self.absent:
            return NotCollected(self.absent, _VERIFY)
        lines, simulated, ids = [], False, list(checks)
        for check_id in ids:
            found = self.records.get(check_id, ())
            if found:
                lines.append(f"{check_id}: {_counts(found)}")
                simulated |= any(each.evidence.simulated for each in found)
            else:
                lines.append(f"{check_id}: not run")
        if all(line.endswith("not run") for line in lines):
            return NotCollected(f"run {self.run_id} lacks {', '.join(ids)}", _VERIFY)
        return Value("\n".join(lines), f"evidence of run {self.run_id}", simulated)

    def summary(self) -> Collected:
        """Return the number of records by verdict."""
        if self.absent:
            return NotCollected(self.absent, _VERIFY)
        every = [each for found in self.records.values() for each in found]
        return Value(f"{len(every)} records: {_counts(every)}", f"evidence of run {self.run_id}", self.simulated)

    def open_checks(self) -> Collected:
        """Return the checks that failed or could not decide, with their targets."""
        if self.absent:
            return NotCollected(self.absent, _VERIFY)
        lines = [
            f"{each.evidence.check_id} on {each.evidence.target}: {each.evidence.verdict.value}"
            for found in self.records.values()
            for each in found
            if each.evidence.verdict in (Verdict.FAIL, Verdict.UNKNOWN)
        ]
        text = "\n".join(lines) or "none failed, and every check decided"
        return Value(text, f"evidence of run {self.run_id}", self.simulated)


_WORST = (Verdict.FAIL, Verdict.UNKNOWN, Verdict.WARN, Verdict.PASS, Verdict.NOT_APPLICABLE)


def run_evidence(run: EvidenceRun | None, *, spec_sha256: str, read_raw: Callable[[str], bytes]) -> RunEvidence:
    """Return the evidence of a run for documents.

    Args:
        run: None if the site has no evidence.
        spec_sha256: digest of the current site.yaml.
    """
    if run is None:
        return RunEvidence("", {}, "the site has no evidence", read_raw)
    if any(each.evidence.spec_sha256 != spec_sha256 for each in run.records):
        return RunEvidence(run.run_id, {}, f"the evidence of run {run.run_id} is of another site.yaml", read_raw)
    records: dict[str, list[StoredEvidence]] = {}
    for each in run.records:
        records.setdefault(each.evidence.check_id, []).append(each)
    return RunEvidence(run.run_id, {name: tuple(found) for name, found in sorted(records.items())}, "", read_raw)


def source_of(record: StoredEvidence) -> str:
    """Return the source of a value from a record."""
    evidence = record.evidence
    return (
        f"evidence {record.sha256[:16]} of {evidence.check_id} on {evidence.target}, {evidence.ended}, "
        f"ledger entry {record.leaf_index}"
    )


def _counts(found: Iterable[StoredEvidence]) -> str:
    verdicts = [each.evidence.verdict for each in found]
    return ", ".join(f"{verdicts.count(each)} {each.value}" for each in _WORST if each in verdicts)
