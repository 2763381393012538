"""Expectation, commands and judge of the checks that run `dcgmi diag`.

- Each result of each GPU counts, also the result of a test as a whole.
- `Skip` of a required test is UNKNOWN. DCGM skips tests that its table of GPUs does not allow.
- An error of a test that passed is not ignored. Its severity decides: an error that only needs attention is WARN.
- dcgmi exits with another code than 0 if a test fails. The same exit code without a failed test is UNKNOWN.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from ....catalog.platforms import CheckProfile
from ....facts.hardware.dcgm_diagnostic import (
    Diagnostic,
    DiagnosticError,
    DiagnosticResult,
    DiagnosticTest,
    ErrorSeverity,
    Status,
    parse_diagnostic,
)
from ....facts.unreadable import excerpt
from ....spec import Node
from ...model.active_check import ActiveCheck, ActiveExpectation, NodeCommand
from ...model.check import Judgement, Method, failed, unknown, warned, worst
from ...model.check_context import CheckContext
from ...model.figures import integer_of
from ...model.probe import ProbeOutput
from ...model.probe_sections import parse_sections

DEPLOYMENT = "Deployment"
"""Category of the tests of software and settings."""
SECTION = "diagnostic"
NOT_FOUND = 127
_NEXT_STEP = {
    ErrorSeverity.MONITOR: "monitor it",
    ErrorSeverity.ISOLATE: "isolate the GPU",
    ErrorSeverity.TRIAGE: "triage it",
    ErrorSeverity.CONFIG: "correct the configuration",
    ErrorSeverity.RESET: "drain the node and reset the GPU",
}
_HARMLESS = (ErrorSeverity.NONE, ErrorSeverity.MONITOR, ErrorSeverity.CONFIG)
_MESSAGE_WIDTH = 160
_WITHOUT_THRESHOLD = "generic mode"
"""Info of a test of a GPU that DCGM does not know: it passes without comparing the measurement (NVIDIA/DCGM 4.6.0,
TargetedPower_wrapper.cpp)."""


@dataclass(frozen=True, kw_only=True)
class Expected(ActiveExpectation):
    """GPUs of the platform, and the threshold or duration of the test.

    Args:
        gpu_count: GPUs per operating system; None: not in the catalogue, so the verdict is UNKNOWN.
        target: threshold in the unit of the test; None if it is unknown, or not needed.
        duration_s: of the load; None: the default of DCGM.
    """

    gpu_count: int | None
    target: float | None = None
    duration_s: int | None = None


class DcgmCheck(ActiveCheck[Expected]):
    """Expectation, command and judge; a subclass names the tests."""

    version, method, controls = 1, Method.TEST, ("si-13",)
    tests: ClassVar[str]
    """Argument of `dcgmi diag -r`."""
    required: ClassVar[tuple[str, ...]]
    """Names of tests in DCGM 4.x that must have a result for each GPU; `Deployment` is that category."""
    limit_s: ClassVar[int]
    words: ClassVar[str]
    """Name of the tests in reasons."""
    judges_all: ClassVar[bool] = True
    """Whether other tests in the output count; False for a test of one property."""

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Nodes with GPUs."""
        platform = site.context.platform(node)
        if platform.has_gpus:
            yield self.expected(site, node, platform.checks)

    def expected(self, site: CheckContext, node: Node, profile: CheckProfile) -> Expected:
        """Return the expectation of a node with GPUs."""
        return Expected(nodes=(node.name,), gpu_count=integer_of(profile.gpu_count))

    def parameters(self, expected: Expected) -> str:
        """Return the argument of `dcgmi diag -p`; empty without one."""
        return ""

    def commands(self, expected: Expected) -> tuple[NodeCommand, ...]:
        """Run the diagnostic with JSON output."""
        parameters = f" -p '{text}'" if (text := self.parameters(expected)) else ""
        command = f"dcgmi diag -r {self.tests}{parameters} -j"
        limit_s = self.limit_s + (expected.duration_s or 0)
        return (NodeCommand(SECTION, expected.nodes[0], command, timeout_s=limit_s),)

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail if any result of any GPU failed; UNKNOWN if a result is absent or was skipped."""
        section = parse_sections(output).section(SECTION)
        if section.exit_code == NOT_FOUND:
            return unknown("the program dcgmi", "none: install the packages of DCGM (datacenter-gpu-manager-4)")
        if not section.text.strip():
            got = f"none, exit code {section.exit_code}"
            return unknown(
                "output of dcgmi diag", f"{got}: {excerpt(section.errors)}" if section.errors.strip() else got
            )
        diagnostic = parse_diagnostic(section.text)
        judged = [each for each in diagnostic.tests if self.judges_all or each.name in self.required]
        findings = [finding for test in judged for finding in _findings(test, is_required=self._requires(test))]
        findings += self._absent(diagnostic, expected)
        findings += self.further(diagnostic, expected)
        is_short = any(
            result.status in (Status.FAIL, Status.WARN) for test in diagnostic.tests for result in test.all_results
        )
        if section.exit_code != 0 and not is_short:
            findings.append(unknown("exit code 0 of dcgmi diag, because no test failed", str(section.exit_code)))
        names = ", ".join(dict.fromkeys(test.name for test in judged))
        return worst(
            findings, otherwise=f"expected {self.words} to pass on {expected.gpu_count} GPUs, got {names} passed"
        )

    def further(self, diagnostic: Diagnostic, expected: Expected) -> Iterator[Judgement]:
        """Yield more findings of a subclass."""
        yield from ()

    def _requires(self, test: DiagnosticTest) -> bool:
        return test.name in self.required or (DEPLOYMENT in self.required and test.category == DEPLOYMENT)

    def _absent(self, diagnostic: Diagnostic, expected: Expected) -> Iterator[Judgement]:
        """Yield the required tests, and GPUs of them, that have no result."""
        count = expected.gpu_count
        if count is None:
            yield unknown("the number of GPUs", "none in the catalogue")
            return
        if diagnostic.gpus is not None and len(diagnostic.gpus) < count:
            yield failed(f"{count} GPUs in DCGM", str(len(diagnostic.gpus)))
        for name in self.required:
            found = [each for each in diagnostic.tests if name in (each.name, each.category)]
            if not found:
                yield unknown(f"a result of {'software' if name == DEPLOYMENT else name}", "none: DCGM did not run it")
            for test in found:
                if (diagnostic.major > 3 or name != DEPLOYMENT) and len(set(test.gpus)) != count:
                    yield unknown(f"results of {test.name} for {count} GPUs", f"{len(set(test.gpus))}")


def _findings(test: DiagnosticTest, *, is_required: bool) -> Iterator[Judgement]:
    """Yield the findings of a test: of each entity, and of the test as a whole if it adds a status or an error."""
    if is_required and any(_WITHOUT_THRESHOLD in line for each in test.all_results for line in each.info):
        yield unknown(f"{test.name} with a threshold", "generic mode of DCGM, which compares with none")
    for result in test.results:
        yield from _of_result(test.name, result, is_required=is_required)
    if test.summary is not None:
        known = {error for each in test.results for error in each.errors}
        added = tuple(error for error in test.summary.errors if error not in known)
        if added or test.summary.status not in {each.status for each in test.results}:
            yield from _of_result(test.name, replace(test.summary, errors=added), is_required=is_required)


def _of_result(name: str, result: DiagnosticResult, *, is_required: bool) -> Iterator[Judgement]:
    expected = f"{name} of {result.entity} to pass"
    messages = "; ".join(map(_message, result.errors))
    if result.status is Status.FAIL:
        yield failed(expected, f"Fail: {messages}" if messages else "Fail without a reason of DCGM")
    elif result.status is Status.WARN:
        yield warned(expected, f"Warn: {messages}" if messages else "Warn")
    elif result.status is Status.SKIP:
        if is_required:
            yield unknown(expected, f"Skip: {messages}" if messages else "Skip")
    elif result.errors:
        is_harmless = all(each.severity in _HARMLESS for each in result.errors)
        yield (warned if is_harmless else unknown)(f"{expected} without errors", f"Pass with {messages}")


def _message(error: DiagnosticError) -> str:
    text = " ".join(error.message.split())
    text = text if len(text) <= _MESSAGE_WIDTH else f"{text[: _MESSAGE_WIDTH - 1]}…"
    step = _NEXT_STEP.get(error.severity)
    return f"{text} ({step})" if step else text
