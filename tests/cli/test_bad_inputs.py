"""Bad files give one clear error on the command line: the place, the expected value, no traceback, and no secret."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_sites import bare_capture, make_site, save_plan, write_captures

SOVCTL = str(Path(sys.executable).parent / "sovctl")
PLAN = ["plan", "site.yaml", "--facts", "facts"]
VALIDATE = ["validate", "site.yaml"]
APPLY = ["apply", "site.yaml", "--yes"]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    make_site(tmp_path, ssh_port=22)
    write_captures(tmp_path / "facts")
    return tmp_path


def _capture(change: Callable[[dict[str, object]], object]) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        capture = bare_capture("hgx-1")
        change(capture)
        (folder / "facts" / "hgx-1.json").write_text(json.dumps(capture))

    return write


def _size(digits: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        text = json.dumps({**bare_capture("hgx-1"), "files": {"/etc/x": {"size": 1}}})
        (folder / "facts" / "hgx-1.json").write_text(text.replace('"size": 1', f'"size": {digits}'))

    return write


def _in_site(field: str, value: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        file = folder / "site.yaml"
        lines = file.read_text().splitlines()
        index = next(number for number, line in enumerate(lines) if line.strip().startswith(f"{field}:"))
        lines[index] = f"{lines[index].split(field)[0]}{field}: {value}"
        file.write_text("\n".join(lines) + "\n")

    return write


def _timezone(folder: Path) -> None:
    with (folder / "site.yaml").open("a") as file:
        file.write("sizing: {autoscaling: {timezone: Europe/Berln}}\n")


def _private_key(folder: Path) -> None:
    key = (folder / "access" / "id_ed25519").read_text()
    (folder / "access" / "apt-key.asc").write_text(key)


def _endless_plan(folder: Path) -> None:
    save_plan(folder / "site.yaml")
    saved = folder / ".sovctl" / "plans" / "plan.json"
    saved.unlink()
    saved.symlink_to("/dev/zero")


CASES: dict[str, tuple[Callable[[Path], None], list[str], str]] = {
    "stdout is null": (
        _capture(lambda each: each["commands"]["holds"].update(stdout=None)),  # type: ignore[index]
        PLAN,
        "hgx-1: commands.holds.stdout: the capture has an unknown format: expected a text, got nothing",
    ),
    "an integer of 401 digits": (
        _size("1" + "0" * 400),
        PLAN,
        "expected an integer of 64 bits, got a number out of range",
    ),
    "a fraction without end": (_size("1e400"), PLAN, "expected an integer of 64 bits, got a number out of range"),
    "an integer of 5,000 digits": (
        _size("9" * 5000),
        PLAN,
        "not a capture of node 'hgx-1': a number has more than 4,300 digits",
    ),
    "a time of another zone": (
        _capture(lambda each: each.update(captured="2026-11-21T10:00:00+02:00")),
        PLAN,
        "captured: the capture has an unknown format: expected a UTC time such as 2026-11-21T09:00:00Z",
    ),
    "an unknown time zone": (_timezone, VALIDATE, "expected an IANA time zone, got `Europe/Berln`"),
    "site.yaml, 401 digits": (
        _in_site("max_model_len", "1" + "0" * 400),
        VALIDATE,
        "max_model_len: expected a whole number",
    ),
    "site.yaml, 5,000 digits": (
        _in_site("max_model_len", "9" * 5000),
        VALIDATE,
        "max_model_len: expected a whole number",
    ),
    "a private key for apt": (_private_key, APPLY, "artifacts.apt_key_file: file contains a private key"),
    "a plan without end": (_endless_plan, APPLY, "plan.json: not a regular file"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_bad_file_gives_a_clear_error(site: Path, case: str) -> None:
    spoil, words, expected = CASES[case]
    spoil(site)
    key = (site / "access" / "id_ed25519").read_text().splitlines()[2]
    done = subprocess.run([SOVCTL, *words], cwd=site, capture_output=True, text=True, timeout=120, check=False)
    printed = done.stdout + done.stderr
    assert expected in printed, printed
    assert done.returncode == 3
    assert "Traceback" not in printed
    assert key not in printed
    assert len(printed) < 1000
