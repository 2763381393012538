"""What is printed where: colours on a terminal only; `apply` asks there; streams that nobody reads do no harm."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from cli_sites import closed_port, make_site, save_plan, write_captures

SOVCTL = str(Path(sys.executable).parent / "sovctl")
ESCAPE = "\x1b["


@pytest.fixture
def site(tmp_path: Path) -> Path:
    made = make_site(tmp_path, ssh_port=22)
    write_captures(tmp_path / "facts")
    return made


def on_a_terminal(*words: str, cwd: Path, answer: str = "", **environ: str) -> tuple[int, str]:
    """Run sovctl with a terminal as its input and output. Returns its exit code and all it printed."""
    ours, its = pty.openpty()
    variables = {"PATH": os.environ["PATH"], "HOME": str(cwd), "TERM": "xterm", "LANG": "C.UTF-8", **environ}
    with subprocess.Popen([SOVCTL, *words], cwd=cwd, env=variables, stdin=its, stdout=its, stderr=its) as process:
        os.close(its)
        os.write(ours, answer.encode())
        seen = b""
        with contextlib.suppress(OSError):  # EIO: the other side is closed
            while piece := os.read(ours, 65536):
                seen += piece
        process.wait(timeout=60)
    os.close(ours)
    return process.returncode, seen.decode()


def test_a_terminal_gets_colours(site: Path) -> None:
    code, text = on_a_terminal("plan", "--facts", "facts", cwd=site.parent)
    assert code == 0
    assert f"{ESCAPE}32m+{ESCAPE}0m" in text


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=["NO_COLOR", "dumb"])
@pytest.mark.parametrize("words", [("plan", "--facts", "facts"), ("plan", "nowhere.yaml"), ("plann",), ("--help",)])
def test_no_escape_code_where_none_is_wanted(words: tuple[str, ...], environ: dict[str, str], site: Path) -> None:
    _, text = on_a_terminal(*words, cwd=site.parent, **environ)
    assert text
    assert "\x1b" not in text


def test_an_error_is_red_on_a_terminal_and_plain_elsewhere(tmp_path: Path) -> None:
    _, text = on_a_terminal("plan", cwd=tmp_path)
    assert text.startswith(f"{ESCAPE}31msovctl:{ESCAPE}0m ")


@pytest.mark.parametrize("answer", ["n\n", "\n"])
def test_apply_asks_and_anything_but_yes_is_no(answer: str, tmp_path: Path) -> None:
    with closed_port() as port:
        save_plan(make_site(tmp_path, ssh_port=port))
        code, text = on_a_terminal("apply", cwd=tmp_path, answer=answer)
    assert code == 0
    assert "apply this plan? [y/N]" in text
    assert "cannot be observed" not in text
    assert not (tmp_path / ".sovctl" / "journal").exists()


def test_yes_goes_on_to_the_nodes(tmp_path: Path) -> None:
    with closed_port() as port:
        save_plan(make_site(tmp_path, ssh_port=port))
        code, text = on_a_terminal("apply", cwd=tmp_path, answer="y\n")
    assert code == 4
    assert "hgx-1" in text
    assert "refused" in text


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-", "2>/dev/full", "2>&1 | head -0"])
@pytest.mark.parametrize(("words", "code"), [("validate site.yaml", 0), ("validate nowhere.yaml", 3)])
def test_streams_that_nobody_reads_change_no_exit_code(words: str, code: int, closed: str, site: Path) -> None:
    shell = ["bash", "-c", f"set -o pipefail; {SOVCTL} {words} {closed}"]
    done = subprocess.run(shell, cwd=site.parent, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert "internal error" not in done.stdout + done.stderr


def test_an_old_terminal_gets_the_code_of_a_character_it_lacks(site: Path) -> None:
    variables = {"PATH": os.environ["PATH"], "PYTHONIOENCODING": "ascii"}
    words = [SOVCTL, "validate", "\u2026.yaml"]
    done = subprocess.run(words, cwd=site.parent, env=variables, capture_output=True, check=False)
    assert done.returncode == 3
    assert b"\\u2026.yaml: no such file" in done.stderr


def test_a_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["bash", "-c", f"rmdir {gone}; {SOVCTL} report"], cwd=gone, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert "the working folder does not exist any more" in done.stderr
