"""Importer of XCCDF results and of ARF, as OpenSCAP writes them (`--results`, `--results-arf`). Pure.

Source: NISTIR 7275 Rev. 4, XCCDF 1.2, 6.6 (TestResult) and Table 26 (result values); NISTIR 7694, ARF 1.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sovctl.support.errors import InputError

from .foreign import ForeignFile, ForeignResult, Outcome
from .xml_events import XmlName, stream

_XCCDF = "http://checklists.nist.gov/xccdf/"
_ARF = "http://scap.nist.gov/schema/asset-reporting-format/"
_ROOTS = {"Benchmark": _XCCDF, "TestResult": _XCCDF, "asset-report-collection": _ARF}
_OUTCOMES = {
    "pass": Outcome.PASS,
    "fail": Outcome.FAIL,
    "error": Outcome.ERROR,
    "unknown": Outcome.UNKNOWN,
    "notapplicable": Outcome.NOT_APPLICABLE,
    "notchecked": Outcome.NOT_CHECKED,
    "notselected": Outcome.NOT_CHECKED,
    "informational": Outcome.INFORMATION,
    "fixed": Outcome.PASS,
}


@dataclass
class _Reading:
    """State while the file is streamed."""

    titles: dict[str, str] = field(default_factory=dict)
    rows: list[tuple[str, str, str, str]] = field(default_factory=list)
    """Rule, result, severity and target."""
    tool: str = ""
    benchmark: str = ""
    started: str = ""
    ended: str = ""
    tests: int = 0
    _rule: str = ""
    _targets: list[str] = field(default_factory=list)
    _result: dict[str, str] = field(default_factory=dict)

    def start(self, path: tuple[XmlName, ...], attributes: Mapping[str, str]) -> None:
        """Read the attributes of an element."""
        name = path[-1]
        if len(path) == 1 and not name.namespace.startswith(_ROOTS.get(name.name, "-")):
            raise InputError(f"expected XCCDF results or an ARF, got the element {name.name[:60]}")
        if not name.namespace.startswith(_XCCDF):
            return
        match name.name:
            case "TestResult":
                self.tests += 1
                self.tool = attributes.get("test-system", self.tool)
                self.started = self.started or attributes.get("start-time", "")
                self.ended = attributes.get("end-time", self.ended)
                self._targets = []
            case "Rule":
                self._rule = attributes.get("id", "")
            case "benchmark":
                self.benchmark = attributes.get("id", "") or attributes.get("href", "")
            case "rule-result":
                self._result = {"rule": attributes.get("idref", ""), "severity": attributes.get("severity", "")}

    def end(self, path: tuple[XmlName, ...], text: str) -> None:
        """Read the text of an element."""
        if not path[-1].namespace.startswith(_XCCDF):
            return
        parent = path[-2].name if len(path) > 1 else ""
        match (parent, path[-1].name):
            case ("Rule", "title"):
                self.titles.setdefault(self._rule, " ".join(text.split()))
            case ("TestResult", "target"):
                self._targets.append(text)
            case ("rule-result", "result"):
                self._result["result"] = text
            case (_, "rule-result"):
                self.rows.append(
                    (
                        self._result["rule"],
                        self._result.get("result", ""),
                        self._result["severity"],
                        ", ".join(self._targets),
                    )
                )


def parse_xccdf(data: bytes) -> ForeignFile:
    """Return the results of an XCCDF or ARF file.

    Raises:
        InputError: another format, no test result, a rule without result, or an unknown result.
    """
    reading = _Reading()
    stream(data, start=reading.start, end=reading.end)
    if not reading.tests or not reading.rows:
        raise InputError("the file has no results of rules", hint="write it with `oscap xccdf eval --results FILE`")
    for rule, result, _, _ in reading.rows:
        if result not in _OUTCOMES or not rule:
            raise InputError(f"expected a result of XCCDF 1.2 for rule {rule[:80] or '(none)'}, got {result[:40]!r}")
    tool, version = _tool(reading.tool)
    return ForeignFile(
        format="xccdf",
        tool=tool,
        version=version,
        results=tuple(
            ForeignResult(rule, _OUTCOMES[result], reading.titles.get(rule, ""), severity.lower(), target)
            for rule, result, severity, target in reading.rows
        ),
        content=reading.benchmark,
        started=reading.started,
        ended=reading.ended,
    )


def _tool(cpe: str) -> tuple[str, str]:
    """Return name and version from a CPE URI such as `cpe:/a:redhat:openscap:1.3.7` (NISTIR 7695, 6.1)."""
    parts = cpe.removeprefix("cpe:/").split(":")
    name = parts[2] if len(parts) > 2 else cpe
    return name or "unknown", parts[3] if len(parts) > 3 and parts[3] else "unknown"
