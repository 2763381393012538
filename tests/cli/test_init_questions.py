"""`sovctl init` on a terminal: questions with defaults, a wrong answer, consent, and Ctrl-C."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

LIMIT_S = 120


def on_terminal(
    folder: Path, *words: str, typed: str, interrupt_at: str = "", limit_s: float = LIMIT_S
) -> tuple[int, str]:
    """Run `sovctl` with a pseudo-terminal, and return its exit code and all that it printed.

    Args:
        typed: input, written before the program starts; the terminal keeps it.
        interrupt_at: send SIGINT when this text is printed.
    """
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "sovctl.cli", *words],
        cwd=folder,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "TERM": "dumb"},
    )
    os.close(terminal)
    os.write(master, typed.encode())
    printed = b""
    try:
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:  # EIO: the process closed the terminal
                break
            if not part:
                break
            printed += part
            if interrupt_at and interrupt_at.encode() in printed:
                interrupt_at = ""
                process.send_signal(signal.SIGINT)
        return process.wait(limit_s), printed.decode()
    finally:
        process.kill()
        os.close(master)


def validate(site: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "sovctl.cli", "validate", str(site)], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_defaults_give_a_valid_site(tmp_path: Path) -> None:
    code, printed = on_terminal(tmp_path, "init", "bank", typed="\n" * 18)
    assert code == 0, printed
    assert "platform of the GPU nodes [dgx-h100]:" in printed
    assert "models that fit on these nodes:" in printed
    assert "on-prem site my-site (DE), 3 nodes, 1 pool" in validate(tmp_path / "bank" / "site.yaml")


def test_a_wrong_answer_is_asked_again(tmp_path: Path) -> None:
    typed = "bank\nGermany\nFR\n" + "\n" * 17
    code, printed = on_terminal(tmp_path, "init", typed=typed)
    assert code == 0, printed
    assert "should match pattern" in printed
    assert "site bank (FR)" in validate(tmp_path / "site.yaml")
    assert "residency-eu" in (tmp_path / "site.yaml").read_text()


def test_a_conditional_licence_and_a_cloud_ask_for_approval(tmp_path: Path) -> None:
    given = [f"--set={each}" for each in ("models=llama-3.3-70b", "cloud=198.51.100.7")]
    typed = "\n" * 12 + "head of legal\nfar below 700 million users\n" + "\n" + "\n\n" + "officer\n"
    code, printed = on_terminal(tmp_path, "init", *given, typed=typed)
    assert code == 0, printed
    text = (tmp_path / "site.yaml").read_text()
    assert 'licence_approved_by: "head of legal"' in text
    assert 'approved_by: "officer"' in text


def test_interrupt_leaves_nothing(tmp_path: Path) -> None:
    code, printed = on_terminal(tmp_path, "init", "bank", typed="bank\n", interrupt_at="country whose law applies")
    assert code == 130, printed
    assert list(tmp_path.iterdir()) == []


def test_the_end_of_input_leaves_nothing(tmp_path: Path) -> None:
    code, _ = on_terminal(tmp_path, "init", "bank", typed="bank\n\x04")
    assert code == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("typed", "is_kept"), [("n\n", True), ("\n", True), ("y\n" + "\n" * 18, False)])
def test_an_existing_file_is_replaced_by_consent_only(typed: str, is_kept: bool, tmp_path: Path) -> None:
    site = tmp_path / "site.yaml"
    site.write_text("mine\n")
    code, printed = on_terminal(tmp_path, "init", typed=typed)
    assert "site.yaml exists; replace it?" in printed
    assert (code, site.read_text() == "mine\n") == ((3, True) if is_kept else (0, False))
