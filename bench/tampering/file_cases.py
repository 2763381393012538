"""Ways to tamper with evidence, journals and reports. Each function changes a copy, and returns the place."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from random import Random

from sovctl.support.canonical_json import canonical_json, sha256_hex

from .expected import Expected, flip, swap
from .ledger_cases import Tamper
from .site import Site


def _records(state: Path) -> list[Path]:
    return sorted((state / "evidence" / "runs").glob("*/*.json"))


def _raw(state: Path) -> list[Path]:
    return sorted((state / "evidence" / "raw").iterdir())


def _journals(state: Path) -> list[Path]:
    return sorted((state / "journal").iterdir())


def _reports(state: Path) -> list[Path]:
    return sorted((state / "reports").iterdir())


def _place(state: Path, *paths: Path) -> Expected:
    return Expected(files=tuple(str(path.relative_to(state)) for path in paths))


def evidence_bit(_: Site, state: Path, random: Random) -> Expected:
    """Flip a bit of a record or of a raw output."""
    path = random.choice([*_records(state), *_raw(state)])
    flip(path, random)
    return _place(state, path)


def evidence_swapped(_: Site, state: Path, random: Random) -> Expected:
    """Exchange the contents of two records, or of two raw outputs."""
    first, second = random.sample(random.choice([_records(state), _raw(state)]), 2)
    swap(first, second)
    return _place(state, min(first, second), max(first, second))


def evidence_renamed(_: Site, state: Path, random: Random) -> Expected:
    """Rename a record or a raw output."""
    path = random.choice([*_records(state), *_raw(state)])
    path.rename(path.with_name(f"x{path.name}"))
    return _place(state, path)


def evidence_deleted(_: Site, state: Path, random: Random) -> Expected:
    """Delete a record or a raw output."""
    path = random.choice([*_records(state), *_raw(state)])
    path.unlink()
    return _place(state, path)


def evidence_copied(_: Site, state: Path, random: Random) -> Expected:
    """Copy a record under another name, as if another target had passed."""
    path = random.choice(_records(state))
    copy = Path(shutil.copy(path, path.with_name(f"gpu.ecc.gpu-9.{random.randrange(16**12):012x}.json")))
    return _place(state, copy)


def evidence_rewritten(_: Site, state: Path, random: Random) -> Expected:
    """Improve a record, and give the file the name of its new content."""
    path = random.choice([each for each in _records(state) if ".gpu-2." in each.name])
    data = canonical_json(json.loads(path.read_bytes()) | {"verdict": "PASS"})
    path.unlink()
    path.with_name(f"{path.name.rsplit('.', 2)[0]}.{sha256_hex(data)[:12]}.json").write_bytes(data)
    return _place(state, path)


def evidence_link(_: Site, state: Path, random: Random) -> Expected:
    """Replace a file by a symbolic link."""
    path = random.choice([*_records(state), *_raw(state)])
    path.unlink()
    path.symlink_to("/dev/zero")
    return _place(state, path)


def journal_bit(_: Site, state: Path, random: Random) -> Expected:
    """Flip a bit of a journal."""
    path = random.choice(_journals(state))
    flip(path, random)
    return _place(state, path)


def journal_edited(_: Site, state: Path, random: Random) -> Expected:
    """Edit a line, and compute the hash chain again."""
    path = random.choice(_journals(state))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    random.choice(lines)["node"] = "gpu-9"
    _rechain(path, lines)
    return _place(state, path)


def journal_reordered(_: Site, state: Path, random: Random) -> Expected:
    """Exchange two lines, and compute the hash chain again."""
    path = random.choice(_journals(state))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    first, second = random.sample(range(len(lines)), 2)
    lines[first], lines[second] = lines[second], lines[first]
    _rechain(path, lines)
    return _place(state, path)


def journal_cut(_: Site, state: Path, random: Random) -> Expected:
    """Cut bytes at the end of a journal."""
    path = random.choice(_journals(state))
    data = path.read_bytes()
    path.write_bytes(data[: random.randrange(len(data))])
    return _place(state, path)


def journal_extended(_: Site, state: Path, random: Random) -> Expected:
    """Append a line to a journal."""
    path = random.choice(_journals(state))
    previous = sha256_hex(path.read_bytes().splitlines()[-1])
    path.write_text(path.read_text() + json.dumps({"event": "role-finished", "previous": previous}) + "\n")
    return _place(state, path)


def journal_deleted(_: Site, state: Path, random: Random) -> Expected:
    """Delete a journal, or rename it."""
    path = random.choice(_journals(state))
    if random.random() < 0.5:
        path.unlink()
    else:
        path.rename(path.with_name("20261120T000000.000Z-cccccccc.jsonl"))
    return _place(state, path)


def report_bit(_: Site, state: Path, random: Random) -> Expected:
    """Flip a bit of a file of a report."""
    folder = random.choice(_reports(state))
    path = random.choice([path for path in sorted(folder.rglob("*")) if path.is_file()])
    flip(path, random)
    return _place(state, path)


def report_deleted(_: Site, state: Path, random: Random) -> Expected:
    """Delete a whole report."""
    folder = random.choice(_reports(state))
    shutil.rmtree(folder)
    return _place(state, folder)


def report_renamed(_: Site, state: Path, random: Random) -> Expected:
    """Rename a report, or exchange the names of two reports."""
    first, second = _reports(state)
    if random.random() < 0.5:
        swap(first, second)
        return _place(state, first, second)
    first.rename(first.with_name(f"{first.name}.2"))
    return _place(state, first)


def report_file_deleted(_: Site, state: Path, random: Random) -> Expected:
    """Delete a file of a report."""
    path = random.choice([path for path in sorted(random.choice(_reports(state)).rglob("*")) if path.is_file()])
    path.unlink()
    return _place(state, path)


def report_file_added(_: Site, state: Path, random: Random) -> Expected:
    """Add a file to a report."""
    path = random.choice(_reports(state)) / random.choice(["summary.pdf", "raw/" + "0" * 64])
    path.write_text("added")
    return _place(state, path)


def report_files_swapped(_: Site, state: Path, random: Random) -> Expected:
    """Exchange two raw outputs of a report, or one file between two reports."""
    first, second = _reports(state)
    if random.random() < 0.5:
        name = random.choice(["report.json", "report.html", "checkpoint", "report.tlog-proof"])
        swap(first / name, second / name)
        return _place(state, first / name)
    paths = random.sample(sorted((first / "raw").iterdir()), 2)
    swap(*paths)
    return _place(state, paths[0])


def report_improved(_: Site, state: Path, random: Random) -> Expected:
    """Improve the state of a control in report.json."""
    path = random.choice(_reports(state)) / "report.json"
    document = json.loads(path.read_text())
    failed = [control for control in document["controls"] if control["state"] == "fail"]
    random.choice(failed)["state"] = "pass"
    path.write_text(json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    return _place(state, path)


def _rechain(path: Path, lines: list[dict[str, object]]) -> None:
    previous, written = "0" * 64, []
    for line in lines:
        written.append(json.dumps(line | {"previous": previous}, sort_keys=True))
        previous = sha256_hex(written[-1])
    path.write_text("\n".join(written) + "\n")


CASES: dict[str, Tamper] = {
    "evidence: any bit": evidence_bit,
    "evidence: contents swapped": evidence_swapped,
    "evidence: renamed": evidence_renamed,
    "evidence: deleted": evidence_deleted,
    "evidence: copied to another name": evidence_copied,
    "evidence: rewritten under a new digest": evidence_rewritten,
    "evidence: replaced by a link": evidence_link,
    "journal: any bit": journal_bit,
    "journal: line edited, chain renewed": journal_edited,
    "journal: lines reordered, chain renewed": journal_reordered,
    "journal: tail cut": journal_cut,
    "journal: line appended": journal_extended,
    "journal: deleted or renamed": journal_deleted,
    "report: any bit of any file": report_bit,
    "report: deleted": report_deleted,
    "report: renamed or swapped": report_renamed,
    "report: file deleted": report_file_deleted,
    "report: file added": report_file_added,
    "report: files swapped": report_files_swapped,
    "report: state improved": report_improved,
}
