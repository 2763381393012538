"""What a check is: an assertion as data, a read-only probe as text, and a pure judge.

    for expectation in check.expect(estate, node):
        output = run(check.probe(expectation))              # the only part that touches a node
        judgement = judge(check, output, expectation)       # pure

Rules kept here, so that no check can forget them: a probe that was not run, ended with another code than 0, printed
nothing, or was cut off is UNKNOWN; text that a parser does not know is UNKNOWN; and the worst finding decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from sovctl.compliance.verdict import Verdict

from ...facts.unreadable import Unreadable, excerpt
from ...spec import Node
from ...spec.types import Secret

if TYPE_CHECKING:
    from .check_context import Estate

# From worst to best; a measured failure outranks what could not be measured.
_WORST_FIRST = (Verdict.FAIL, Verdict.UNKNOWN, Verdict.WARN, Verdict.PASS, Verdict.NOT_APPLICABLE)
_REASONS_SHOWN = 5
MARK = "=== sovctl"
"""Begins the lines that `parts` sets around answers."""
TIMED_OUT = 124  # timeout(1), EXIT STATUS


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """What one check expects of one target; judges take it beside the output. Plain values only.

    Args:
        subject: the thing on the node, such as a pool's name; empty for the node itself.
    """

    subject: str = ""


@dataclass(frozen=True)
class Probe:
    """How to look: a text for `sh`, run as root on the node (or as the operator on the controller), read-only.

    Args:
        timeout_s: after which it is ended, and the answer is UNKNOWN.
        secret: handed to the command on its standard input; never part of the text.
    """

    command: str
    timeout_s: int = 60
    secret: Secret | None = None


@dataclass(frozen=True)
class ProbeOutput:
    """What came back. `exit_code` is None when the probe could not be run or did not end in time."""

    exit_code: int | None
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Judgement:
    """A verdict and the rule behind it, both sides of it: "expected ..., got ..."."""

    verdict: Verdict
    reason: str


def passed(reason: str) -> Judgement:
    """The assertion holds."""
    return Judgement(Verdict.PASS, reason)


def failed(expected: str, got: str) -> Judgement:
    """It was measured, and it does not hold."""
    return Judgement(Verdict.FAIL, f"expected {expected}, got {got}")


def warned(expected: str, got: str) -> Judgement:
    """It holds, but somebody should look."""
    return Judgement(Verdict.WARN, f"expected {expected}, got {got}")


def unknown(expected: str, got: str) -> Judgement:
    """It was not measured."""
    return Judgement(Verdict.UNKNOWN, f"expected {expected}, got {got}")


E = TypeVar("E", bound=Expectation)


@dataclass(frozen=True)
class Check(Generic[E]):
    """One assertion about nodes.

    Args:
        id: such as `nvlink.links-active`.
        version: raised when probe or judge change their meaning.
        title: what is asserted, in words.
        controls: NIST SP 800-53 ids (OSCAL spelling, `sc-7.5` is SC-7(5)) to which the answer honestly speaks.
        method: of NIST SP 800-53A: TEST exercises, EXAMINE reads.
        expect: what is expected of a node; nothing when the check does not apply to it. Pure.
        probe: how to look, for one expectation. Pure.
        judge: what the output means. Pure; sees only complete output.
        expect_here: what is expected of this controller, for checks of the site itself.
    """

    id: str
    version: int
    title: str
    controls: tuple[str, ...]
    method: Literal["TEST", "EXAMINE"]
    expect: Callable[[Estate, Node], Iterable[E]]
    probe: Callable[[E], Probe]
    judge: Callable[[ProbeOutput, E], Judgement]
    expect_here: Callable[[Estate], Iterable[E]] = field(default=lambda _estate: ())


def judge(check: Check[E], output: ProbeOutput, expectation: E) -> Judgement:
    """The verdict of `check`, UNKNOWN for everything that is not a whole, readable answer."""
    said = "\n".join(line for line in output.stderr.splitlines() if not line.startswith(MARK))
    if output.exit_code is None:
        return unknown("the probe to run", excerpt(said) if said.strip() else "no answer")
    if output.exit_code != 0:
        late = " (it did not end in time)" if output.exit_code == TIMED_OUT else ""
        words = f", saying {excerpt(said)}" if said.strip() else ""
        return unknown("the probe to end with 0", f"{output.exit_code}{late}{words}")
    if not output.stdout.strip():
        return unknown("an answer", "empty output")
    try:
        return check.judge(output, expectation)
    except Unreadable as error:
        return Judgement(Verdict.UNKNOWN, str(error))


def worst(findings: Iterable[Judgement], *, otherwise: str) -> Judgement:
    """One judgement from many: the worst verdict with its reasons, or PASS with the reason `otherwise`.

    Args:
        findings: what was found wrong; findings that pass count as nothing.
    """
    found = [each for each in findings if each.verdict is not Verdict.PASS]
    if not found:
        return passed(otherwise)
    verdict = min((each.verdict for each in found), key=_WORST_FIRST.index)
    reasons = list(dict.fromkeys(each.reason for each in found if each.verdict is verdict))
    more = f"; and {len(reasons) - _REASONS_SHOWN} more" if len(reasons) > _REASONS_SHOWN else ""
    return Judgement(verdict, "; ".join(reasons[:_REASONS_SHOWN]) + more)
