"""Importer of SARIF 2.1.0. Messages are not read, because they can quote source text and secrets. Pure.

Source: OASIS SARIF 2.1.0, 3.14 (run), 3.27 (result): `kind` is "fail" and `level` is "warning" if absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sovctl.support.errors import InputError

from .foreign import ForeignFile, ForeignResult, Outcome
from .json_file import items, parse_json, text

_KINDS = {
    "pass": Outcome.PASS,
    "fail": Outcome.FAIL,
    "open": Outcome.UNKNOWN,
    "review": Outcome.UNKNOWN,
    "notApplicable": Outcome.NOT_APPLICABLE,
    "informational": Outcome.INFORMATION,
}


def parse_sarif(data: bytes) -> ForeignFile:
    """Return the results of a SARIF file.

    Raises:
        InputError: another format or version, no run, several tools, or a run without results.
    """
    value = parse_json(data)
    if (version := text(value, "version")) != "2.1.0":
        raise InputError(f"expected SARIF 2.1.0, got {version[:20]}")
    runs = list(items(value, "runs"))
    tools = {_tool(run) for run in runs}
    if len(tools) != 1:
        raise InputError(f"expected the runs of one tool, got {len(tools)}", hint="import one file for each tool")
    ((tool, tool_version),) = tools
    results = []
    for run in runs:
        if run.get("results") is None:  # 3.14.23: absent results mean that the analysis was not performed
            raise InputError("a run has no `results`: the analysis was not performed")
        titles = _titles(run)
        results += [_result(each, titles) for each in items(run, "results")]
    return ForeignFile("sarif", tool, tool_version, tuple(results))


def _tool(run: Mapping[str, Any]) -> tuple[str, str]:
    semantic = text(run, "tool", "driver", "semanticVersion", default="")
    return text(run, "tool", "driver", "name"), semantic or text(run, "tool", "driver", "version", default="unknown")


def _titles(run: Mapping[str, Any]) -> dict[str, str]:
    driver = run["tool"]["driver"]
    return {
        text(rule, "id"): text(rule, "shortDescription", "text", default="")
        for rule in items(driver, "rules", may_lack=True)
    }


def _result(each: Mapping[str, Any], titles: Mapping[str, str]) -> ForeignResult:
    rule, kind = text(each, "ruleId", default="") or text(each, "rule", "id"), text(each, "kind", default="fail")
    if kind not in _KINDS:
        raise InputError(f"expected a kind of SARIF 2.1.0, got {kind[:40]}")
    uris = [
        text(place, "physicalLocation", "artifactLocation", "uri", default="")
        for place in items(each, "locations", may_lack=True)
    ]
    return ForeignResult(
        rule=rule,
        outcome=_KINDS[kind],
        title=titles.get(rule, ""),
        severity=text(each, "level", default="warning" if kind == "fail" else "none"),
        target=", ".join(filter(None, uris)),
    )
