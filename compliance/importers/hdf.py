"""Importer of the Heimdall Data Format of MITRE SAF (ExecJSON of InSpec). Pure.

The outcome of a control is the worst of its results. A control with impact 0 is not applicable, and one without results
is not checked. Tags such as `nist` are not read, because controls are mapped explicitly only.

Source: mitre/heimdall2, libs/inspecjs, schema exec-json; saf.mitre.org, Heimdall Data Format.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sovctl.support.errors import InputError

from .foreign import ForeignFile, ForeignResult, Outcome, worst
from .json_file import items, parse_json, text

_STATUSES = {
    "passed": Outcome.PASS,
    "failed": Outcome.FAIL,
    "error": Outcome.ERROR,
    "skipped": Outcome.NOT_CHECKED,
}
_SEVERITIES = ((0.9, "critical"), (0.7, "high"), (0.4, "medium"), (0.1, "low"))  # lowest impact of each; InSpec


def parse_hdf(data: bytes) -> ForeignFile:
    """Return the results of an HDF file.

    Raises:
        InputError: another format, an unknown status, or no control.
    """
    value = parse_json(data)
    target = text(value, "platform", "target_id", default="") or text(value, "platform", "name")
    profiles = list(items(value, "profiles"))
    results = [_result(control, target) for profile in profiles for control in items(profile, "controls")]
    if not results:
        raise InputError("the file has no controls")
    times = sorted(
        time
        for profile in profiles
        for control in items(profile, "controls")
        for result in items(control, "results", may_lack=True)
        if (time := text(result, "start_time", default=""))
    )
    return ForeignFile(
        format="hdf",
        tool=text(value, "generator", "name", default="InSpec or a converter of SAF"),
        version=text(value, "version"),
        results=tuple(results),
        content=", ".join(f"{text(p, 'name')} {text(p, 'version', default='')}".strip() for p in profiles),
        started=times[0] if times else "",
        ended=times[-1] if times else "",
    )


def _result(control: Mapping[str, Any], target: str) -> ForeignResult:
    impact = control.get("impact")
    if not isinstance(impact, int | float) or isinstance(impact, bool) or not 0 <= impact <= 1:
        raise InputError(f"expected an impact of 0 to 1 in control {text(control, 'id')[:80]}")
    statuses = [text(each, "status") for each in items(control, "results", may_lack=True)]
    for status in statuses:
        if status not in _STATUSES:
            raise InputError(f"expected a status of HDF, got {status[:40]}")
    outcome = Outcome.NOT_APPLICABLE if impact == 0 else worst(_STATUSES[status] for status in statuses)
    return ForeignResult(
        rule=text(control, "id"),
        outcome=outcome,
        title=text(control, "title", default=""),
        severity=next((name for least, name in _SEVERITIES if impact >= least), "none"),
        target=target,
    )
