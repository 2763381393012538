"""Runs a transcript: what a person types, what they see, how it ends, and what stays silent.

    # A promise in one sentence.
    given a site                      a state of the world, by name: `cli_givens.GIVENS`
    write site.yaml                   a file; its lines follow, indented by four spaces
    change site.yaml: OLD => NEW      the first OLD in a file; it must be there
    env NO_COLOR=1
    $ sovctl plan site.yaml           the real program, in a process of its own, without a terminal
    exit 3                            always said
    stderr unknown key                a piece of that output
    ! stderr hint:                    not a piece of it
    silent stdout                     nothing at all
    unchanged                         not one file or folder made, altered or removed by the command

After every command, unasked: no traceback, no crash file, no escape code, no secret in what was printed.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import warm_processes
from cli_givens import GIVENS, World
from cli_sites import INVENTED_SECRET

TIMEOUT_S = 60
NEVER = ("Traceback (most recent call last)", "internal error", "\x1b", INVENTED_SECRET, "PRIVATE KEY")
BIN = Path(sys.executable).parent


def run_transcript(path: Path, folder: Path) -> None:
    """Every line of a transcript, in `folder`.

    Raises:
        AssertionError: what happened is not what is written; the message has the line and the whole output.
    """
    lines = path.read_text().splitlines()
    with ExitStack() as stack:
        reader = _Reader(path, folder, World(folder, stack))
        for number, line in enumerate(lines, 1):
            reader.read(number, line)
        reader.end()


class _Reader:
    def __init__(self, path: Path, folder: Path, world: World) -> None:
        self.path, self.folder, self.world = path, folder, world
        self.environ = {
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
        }
        self.number = 0
        self.done: subprocess.CompletedProcess[str] | None = None
        self.is_ended = True
        self.before: dict[str, object] = {}
        self.writing: Path | None = None

    def read(self, number: int, line: str) -> None:
        self.number = number
        if line.startswith("    ") and self.writing is not None:
            with self.writing.open("a") as file:
                file.write(line[4:] + "\n")
            return
        self.writing = None
        if not line or line.startswith("#"):
            return
        word, _, rest = line.partition(" ")
        words = {
            "given": self._given,
            "write": self._write,
            "change": self._change,
            "env": self._env,
            "$": self._run,
            "exit": self._exit,
            "stdout": self._contains,
            "stderr": self._contains,
            "!": self._lacks,
            "silent": self._silent,
            "unchanged": self._unchanged,
        }
        self._expect(word in words, f"no such word: {word}")
        if word in ("stdout", "stderr"):
            rest = line
        words[word](rest)

    def end(self) -> None:
        self._expect(self.done is not None and self.is_ended, "expected a command, and how it ends")

    def _given(self, name: str) -> None:
        self._expect(name in GIVENS, f"expected one of {sorted(GIVENS)}")
        GIVENS[name](self.world)

    def _write(self, name: str) -> None:
        self.writing = self.folder / name
        self.writing.parent.mkdir(parents=True, exist_ok=True)
        self.writing.write_text("")

    def _change(self, text: str) -> None:
        name, _, words = text.partition(": ")
        old, _, new = words.partition(" => ")
        file = self.folder / name
        content = file.read_text()
        self._expect(bool(old) and old in content, f"{name} has no {old!r}")
        file.write_text(content.replace(old, new.replace("\\n", "\n"), 1))

    def _env(self, text: str) -> None:
        name, _, value = text.partition("=")
        self.environ[name] = value

    def _run(self, text: str) -> None:
        self._expect(self.is_ended, "the command before this one has no `exit`")
        self.before = snapshot(self.folder)
        command = shlex.split(text)
        self._expect(command[0] == "sovctl", "only sovctl is run here")
        self.done = warm_processes.sovctl(*command[1:], cwd=self.folder, env=self.environ, timeout_s=TIMEOUT_S)
        self.is_ended = False
        for never in NEVER:
            self._expect(never not in self.done.stdout + self.done.stderr, f"{never!r} was printed")

    def _exit(self, code: str) -> None:
        assert self.done is not None
        self._expect(self.done.returncode == int(code), f"it ended with {self.done.returncode}")
        self.is_ended = True

    def _contains(self, text: str) -> None:
        stream, _, piece = text.partition(" ")
        self._expect(bool(piece) and piece in self._output(stream), "not printed there")

    def _lacks(self, text: str) -> None:
        stream, _, piece = text.partition(" ")
        self._expect(bool(piece) and piece not in self._output(stream), "printed there")

    def _silent(self, stream: str) -> None:
        self._expect(self._output(stream) == "", f"{stream} is not empty")

    def _unchanged(self, _: str) -> None:
        now = snapshot(self.folder)
        differ = sorted(name for name in {*self.before, *now} if self.before.get(name) != now.get(name))
        self._expect(not differ, f"made, altered or removed: {differ}")

    def _output(self, stream: str) -> str:
        self._expect(stream in ("stdout", "stderr") and self.done is not None, "expected stdout or stderr of a command")
        return str(getattr(self.done, stream))

    def _expect(self, is_so: bool, message: str) -> None:
        if not is_so:
            seen = f"\n--- stdout\n{self.done.stdout}--- stderr\n{self.done.stderr}" if self.done else ""
            raise AssertionError(f"{self.path.name}:{self.number}: {message}{seen}")


def snapshot(folder: Path) -> dict[str, object]:
    """Everything under a folder: name -> mode and content, or where a link leads."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mode,
            path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None,
        )
        for path in folder.rglob("*")
    }
