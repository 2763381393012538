"""OSCAL of sovctl, read by another implementation: compliance-trestle imports and validates every document.

    make bench-trestle                    prints two tables, writes build/bench/trestle.json
    python -m bench.trestle --check       exits with 1 if a document is refused, or a planted error is missed

First table: documents of reports of several packs, imported into a workspace of trestle and validated there. Second
table: errors planted into the assessment results, and the tools that find them: schema, lint of sovctl, trestle.
"""

from __future__ import annotations

import argparse
import copy
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sovctl.compliance.controls.framework import builtin_pack, load_pack
from sovctl.compliance.oscal.lint import lint
from sovctl.compliance.oscal.schema import validate
from sovctl.support.atomic_files import write_atomic

from .reported import site
from .reported.trestle_environment import Answer, make, run, start_workspace

PACKS = ("nist-800-53-moderate", "hipaa-security")  # the second one has control ids that are not OSCAL tokens
RESULT = Path("build/bench/trestle.json")
NODES = 3
_NAME = "sovctl"
_RESULTS = "assessment-results.json"
_ABSENT = "11111111-1111-5111-8111-111111111111"
Package = dict[str, Any]


def _result(package: Package) -> Any:
    return package[_RESULTS]["assessment-results"]["results"][0]


def _unknown_key(package: Package) -> None:
    _result(package)["findings"][0]["surprise"] = "x"


def _second_uuid(package: Package) -> None:
    findings = _result(package)["findings"]
    findings[1]["uuid"] = findings[0]["uuid"]


def _dangling_observation(package: Package) -> None:
    related = next(each for each in _result(package)["findings"] if "related-observations" in each)
    related["related-observations"][0]["observation-uuid"] = _ABSENT


def _unknown_control(package: Package) -> None:
    _result(package)["reviewed-controls"]["control-selections"][0]["include-controls"][0]["control-id"] = "zz-99"


def _end_before_start(package: Package) -> None:
    _result(package)["end"] = "2001-01-01T00:00:00Z"


def _dangling_evidence(package: Package) -> None:
    _result(package)["observations"][0]["relevant-evidence"][0]["href"] = f"#{_ABSENT}"


PLANTED: dict[str, Callable[[Package], None]] = {
    "unknown key": _unknown_key,
    "two findings with one uuid": _second_uuid,
    "observation that does not exist": _dangling_observation,
    "control that does not exist": _unknown_control,
    "end before start": _end_before_start,
    "evidence that does not exist": _dangling_evidence,
}


def accepted(folder: Path, workspace: Path) -> list[dict[str, Any]]:
    """Import and validate all documents of a report. The profile and the catalog are in the root of the workspace."""
    start_workspace(workspace)
    files = sorted((folder / "oscal").glob("*.json"))
    for name in ("catalog.json", "profile.json"):  # trestle resolves the references of an SSP from there
        shutil.copy(folder / "oscal" / name, workspace)
    rows = []
    for file in files:
        imported = run(workspace, "import", "-f", str(file), "-o", _NAME)
        kind = {"system-security-plan": "system-security-plan"}.get(file.stem, file.stem)
        checked = run(workspace, "validate", "-t", kind, "-n", _NAME) if imported.is_accepted else Answer(False, ())
        rows.append(
            {
                "document": file.name,
                "bytes": file.stat().st_size,
                "imported": imported.is_accepted,
                "valid": checked.is_accepted,
                "messages": [*imported.messages, *checked.messages],
            }
        )
    return rows


def planted(folder: Path, workspace: Path) -> list[dict[str, Any]]:
    """Plant each error, and return which tool finds it."""
    clean = {path.name: json.loads(path.read_text()) for path in (folder / "oscal").glob("*.json")}
    digests = {f"../{name}": digest for name, digest in _digests(folder).items()}
    rows = []
    for number, (error, plant) in enumerate(PLANTED.items()):
        package = copy.deepcopy(clean)
        plant(package)
        file = workspace / f"planted-{number}.json"
        file.write_text(json.dumps(package[_RESULTS]))
        by_schema = bool(validate(package[_RESULTS]))
        answer = run(workspace, "import", "-f", str(file), "-o", f"planted-{number}")
        rows.append(
            {
                "error": error,
                "schema": by_schema,
                "lint": by_schema or bool(lint(package, digests.get)),
                "trestle": not answer.is_accepted,
                "messages": list(answer.messages),
            }
        )
    return rows


def _digests(folder: Path) -> dict[str, str]:
    from sovctl.compliance.audit.files import file_names, file_sha256

    return {name: file_sha256(folder / name) for name in file_names(folder)}


def main() -> int:
    """Measure, print and write the result; return 1 if a target is missed and `--check` is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a document or an error is wrong")
    options = parser.parse_args()
    make()
    found: dict[str, Any] = {"documents": {}, "planted": []}
    with tempfile.TemporaryDirectory() as name:
        for pack_name in PACKS:
            pack = load_pack(builtin_pack(pack_name))
            state = Path(name, pack_name)
            site.fill(state, sorted(pack.checks()), NODES)
            report = site.report(state, pack, waived=site.failing(sorted(pack.checks()))[0])
            found["documents"][pack_name] = accepted(report.folder, Path(name, f"workspace-{pack_name}"))
            if not found["planted"]:
                found["planted"] = planted(report.folder, Path(name, f"workspace-{pack_name}"))
    _print(found)
    found["met"] = all(row["imported"] and row["valid"] for rows in found["documents"].values() for row in rows)
    found["met"] &= all(row["lint"] for row in found["planted"])
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(RESULT, json.dumps(found, indent=1) + "\n")
    print("met" if found["met"] else "MISSED")
    return 1 if options.check and not found["met"] else 0


def _print(found: dict[str, Any]) -> None:
    for pack, rows in found["documents"].items():
        print(f"{pack}: trestle 5.2.0")
        for row in rows:
            print(f"  {row['document']:36} {row['bytes']:>9} bytes  import {row['imported']}  valid {row['valid']}")
            for message in row["messages"]:
                print(f"      {message}")
    print(f"{'planted error':34} {'schema':8} {'lint':8} trestle")
    for row in found["planted"]:
        words = [("missed", "found")[row[tool]] for tool in ("schema", "lint", "trestle")]
        print(f"{row['error']:34} {words[0]:8} {words[1]:8} {words[2]}")


if __name__ == "__main__":
    sys.exit(main())
