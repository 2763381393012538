"""Scans files with ClamAV, and counts only files that it read completely.

ClamAV reports `OK` for files above its limits unless `--alert-exceeds-max=yes` is given (measured with 1.4.3: a test
signature at 650 MB of a 700 MB file). Old virus definitions are an error, not a result without findings.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from ..trust import Refused
from .policy import Scanner

PROGRAM = "clamscan"
_VERSION = re.compile(r"ClamAV (?P<version>[0-9.]+)/(?P<data>[0-9]+)/(?P<date>.+)")
_OPTIONS = ("--alert-exceeds-max=yes", "--max-filesize=2000M", "--max-scansize=2000M", "--no-summary", "--stdout")
_TIMEOUT_S = 24 * 3600  # 700 MB take 23 s


@dataclass(frozen=True)
class Scan:
    """Result of a scan.

    Args:
        definitions: date of the virus definitions.
        findings: files with a reason, sorted.
    """

    version: str
    definitions: datetime
    findings: tuple[tuple[Path, str], ...]


def is_installed() -> bool:
    """Return whether ClamAV is installed."""
    return shutil.which(PROGRAM) is not None


def scan(files: Sequence[Path], scanner: Scanner, *, now: datetime) -> Scan:
    """Scan files.

    Raises:
        Refused: virus definitions are absent or old, the scanner failed, or it skipped a file.
    """
    database = ("--database", str(scanner.database)) if scanner.database else ()
    version, definitions = _definitions(database)
    if now - definitions > timedelta(days=scanner.max_age_days):
        raise Refused(
            f"virus definitions are of {definitions:%Y-%m-%d}, older than {scanner.max_age_days} days",
            hint="import newer definitions, then repeat the command",
        )
    with tempfile.NamedTemporaryFile("w", prefix="sovctl-scan-") as listed:
        listed.write("".join(f"{path}\n" for path in files))
        listed.flush()
        done = _run(PROGRAM, *_OPTIONS, *database, f"--file-list={listed.name}")
    if done.returncode not in (0, 1):
        raise Refused(f"{PROGRAM} failed with exit code {done.returncode}", hint="read its messages: run it by hand")
    return Scan(version, definitions, findings_in(done.stdout, files))


def findings_in(output: str, files: Sequence[Path]) -> tuple[tuple[Path, str], ...]:
    """Return the findings of a scanner's output, sorted.

    Raises:
        Refused: the output has no result for a file.
    """
    lines = (line.rpartition(": ") for line in output.splitlines())
    results = {name: result for name, _, result in lines if name}
    findings = []
    for path in files:
        result = results.get(str(path), "skipped")
        if result.endswith(" FOUND"):
            findings.append((path, result.removesuffix(" FOUND")))
        elif result not in ("OK", "Empty file"):
            raise Refused(f"{PROGRAM} did not read a file: {result}", where=path.name, hint="scan it by hand")
    return tuple(sorted(findings))


def _definitions(database: tuple[str, ...]) -> tuple[str, datetime]:
    text = _run(PROGRAM, "--version", *database).stdout.strip()
    match = _VERSION.fullmatch(text)
    try:
        if match is None:
            raise ValueError
        date = datetime.strptime(f"{match['date']} +0000", "%a %b %d %H:%M:%S %Y %z")
    except ValueError:
        raise Refused(
            "ClamAV has no virus definitions with a date", hint="import daily.cvd, main.cvd and bytecode.cvd"
        ) from None
    return f"ClamAV {match['version']}, definitions {match['data']}", date


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT_S,
        env={"LC_ALL": "C", "TZ": "UTC", "PATH": "/usr/bin:/bin:/usr/local/bin"},
    )
