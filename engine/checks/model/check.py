"""The interface of a check: what it expects of a site, a read-only probe, and a pure judge.

    for expected in check.expect(site, node):
        output = run(check.probe(expected))                 # the only step that contacts a node
        judgement = judge(check, output, expected)          # pure

Invariants, enforced by `judge` for every check:
- A probe that did not run, exited with a code other than 0 or printed nothing is UNKNOWN.
- Output that a parser does not recognize is UNKNOWN.
- The verdict of several findings is the worst one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from sovctl.compliance.verdict import Verdict

from ...catalog.check_limits import limit
from ...facts.unreadable import Unreadable, excerpt
from ...spec import Node
from .probe import MARK, TIMED_OUT, Probe, ProbeOutput

if TYPE_CHECKING:
    from .check_context import CheckContext

# From worst to best. A measured failure outranks a missing measurement.
_WORST_FIRST = (Verdict.FAIL, Verdict.UNKNOWN, Verdict.WARN, Verdict.PASS, Verdict.NOT_APPLICABLE)
_MAX_REASONS = 5


class Method(StrEnum):
    """Assessment method of NIST SP 800-53A: TEST exercises a component, EXAMINE reads its configuration."""

    TEST = "TEST"
    EXAMINE = "EXAMINE"


class Rule(StrEnum):
    """The rule that decided a verdict; part of evidence."""

    JUDGE = "judge of the check on complete output"
    WAIVED = "a finding that only a waiver of site.yaml accepts is WARN"
    NOT_MEASURED = "a target that was not measured is UNKNOWN"
    INCOMPLETE = "a probe that failed or printed nothing is UNKNOWN"
    UNREADABLE = "output of an unexpected form is UNKNOWN"


class Severity(StrEnum):
    """Consequence of a failure for the institution; reports list failures in this order."""

    CRITICAL = "critical"
    """Data can leave, be read or be falsified, or a GPU computes wrong results."""
    HIGH = "high"
    """The node, a pool or a gateway cannot serve as planned."""
    MEDIUM = "medium"
    """It serves slower, or without spare capacity."""
    LOW = "low"
    """A deviation without an effect on users today."""


class Level(StrEnum):
    """How long a check takes, and whether it puts load on the node. A level contains the levels before it."""

    QUICK = "quick"
    """Seconds, read-only."""
    FULL = "full"
    """Minutes: reads whole trees and models, and runs short tests of GPUs and links on a node without users."""
    BURN_IN = "burn-in"
    """Hours, on a node without users."""

    def contains(self, other: Level) -> bool:
        """Return whether a run of this level includes checks of another."""
        order = tuple(Level)
        return order.index(other) <= order.index(self)


@dataclass(frozen=True)
class SiteLimit:
    """A site's value of a limit of the catalogue.

    Args:
        waiver: reference, end and approver of the waiver of a looser value; empty for a stricter one.
    """

    id: str
    value: int
    waiver: str = ""


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """The values that one check expects of one target. Plain values only.

    Args:
        subject: the object on the node, such as a pool's name; empty for the node itself.
        limits: values of site.yaml for limits of the check.
    """

    subject: str = ""
    limits: tuple[SiteLimit, ...] = ()

    def limit_of(self, name: str) -> int:
        """Return the site's value of a limit of the catalogue, or the catalogue's."""
        found = [each.value for each in self.limits if each.id == name]
        return found[0] if found else limit(name)


@dataclass(frozen=True)
class Judgement:
    """A verdict, its reason in the form "expected ..., got ...", and the rule that decided it."""

    verdict: Verdict
    reason: str
    rule: Rule = Rule.JUDGE


def passed(reason: str) -> Judgement:
    """Return PASS: the assertion holds."""
    return Judgement(Verdict.PASS, reason)


def failed(expected: str, got: str) -> Judgement:
    """Return FAIL: the value was measured, and the assertion does not hold."""
    return Judgement(Verdict.FAIL, f"expected {expected}, got {got}")


def warned(expected: str, got: str) -> Judgement:
    """Return WARN: the assertion holds, and an operator should review the value."""
    return Judgement(Verdict.WARN, f"expected {expected}, got {got}")


def unknown(expected: str, got: str) -> Judgement:
    """Return UNKNOWN: the value was not measured."""
    return Judgement(Verdict.UNKNOWN, f"expected {expected}, got {got}")


def not_applicable(expected: str, got: str) -> Judgement:
    """Return N/A: the output states that the part does not exist."""
    return Judgement(Verdict.NOT_APPLICABLE, f"expected {expected}, got {got}")


E = TypeVar("E", bound=Expectation)


class Check(ABC, Generic[E]):
    """One assertion about nodes or about the controller. All methods are pure.

    A check of nodes overrides `expect`; a check of the controller overrides `expect_controller`.
    """

    id: ClassVar[str]
    """Such as `nvlink.links-active`: topic and assertion. Part of signed evidence; it never changes."""
    version: ClassVar[int]
    """Incremented when the meaning of the probe or of the judge changes."""
    title: ClassVar[str]
    """The assertion as a short statement."""
    controls: ClassVar[tuple[str, ...]]
    """NIST SP 800-53 ids in OSCAL spelling (`sc-7.5` is SC-7(5)) for which the result is evidence; sorted."""
    method: ClassVar[Method]
    severity: ClassVar[Severity]
    remedy: ClassVar[str]
    """The next step after FAIL, as an instruction in one sentence."""
    level: ClassVar[Level] = Level.QUICK
    is_active: ClassVar[bool] = False
    """Whether it puts load on GPUs or links, so that the node must not serve."""
    former_ids: ClassVar[tuple[str, ...]] = ()
    """Ids in evidence, control maps and waivers of earlier releases."""

    def expect(self, site: CheckContext, node: Node) -> Iterable[E]:  # noqa: ARG002 - for overrides
        """Return one expectation for each target on the node; none if the check does not apply to the node."""
        return ()

    def expect_controller(self, site: CheckContext) -> Iterable[E]:  # noqa: ARG002 - for overrides
        """Return the expectations of this controller; none for a check of nodes."""
        return ()

    @abstractmethod
    def probe(self, expected: E) -> Probe:
        """Return the command that measures one target."""

    @abstractmethod
    def judge(self, output: ProbeOutput, expected: E) -> Judgement:
        """Return the judgement of complete output.

        Raises:
            Unreadable: the output does not have the expected form; the verdict is UNKNOWN.
        """


def judge(check: Check[E], output: ProbeOutput, expected: E) -> Judgement:
    """Return the judgement of `check`; UNKNOWN for output that is incomplete or unreadable.

    A finding that only a waiver accepts is WARN, and its reason names the waiver.
    """
    judgement = _judged(check, output, expected)
    waived = [each.waiver for each in expected.limits if each.waiver]
    if not waived:
        return judgement
    strict = _judged(check, output, replace(expected, limits=tuple(e for e in expected.limits if not e.waiver)))
    if _WORST_FIRST.index(strict.verdict) >= _WORST_FIRST.index(judgement.verdict):
        return judgement
    return Judgement(Verdict.WARN, f"{strict.reason}; accepted by waiver {'; '.join(waived)}", Rule.WAIVED)


def _judged(check: Check[E], output: ProbeOutput, expected: E) -> Judgement:
    stderr = "\n".join(line for line in output.stderr.splitlines() if not line.startswith(MARK))
    if output.exit_code is None:
        return _incomplete("the probe to run", excerpt(stderr) if stderr.strip() else "no output")
    if output.exit_code != 0:
        timeout = " (timeout)" if output.exit_code == TIMED_OUT else ""
        message = f": {excerpt(stderr)}" if stderr.strip() else ""
        return _incomplete("exit code 0 of the probe", f"{output.exit_code}{timeout}{message}")
    if not output.stdout or output.stdout.isspace():
        return _incomplete("output of the probe", "none")
    try:
        return check.judge(output, expected)
    except Unreadable as error:
        return Judgement(Verdict.UNKNOWN, str(error), Rule.UNREADABLE)


def _incomplete(expected: str, got: str) -> Judgement:
    return replace(unknown(expected, got), rule=Rule.INCOMPLETE)


def worst(findings: Iterable[Judgement], *, otherwise: str) -> Judgement:
    """Return the worst verdict of the findings with its reasons, or PASS if no finding blocks.

    Args:
        findings: judgements; those that pass are ignored.
        otherwise: the reason of the PASS.
    """
    found = [each for each in findings if each.verdict is not Verdict.PASS]
    if not found:
        return passed(otherwise)
    verdict = min((each.verdict for each in found), key=_WORST_FIRST.index)
    reasons = list(dict.fromkeys(each.reason for each in found if each.verdict is verdict))
    more = f"; and {len(reasons) - _MAX_REASONS} more" if len(reasons) > _MAX_REASONS else ""
    return Judgement(verdict, "; ".join(reasons[:_MAX_REASONS]) + more)
