"""Probes of several commands: each begins and ends with a mark, so that an answer that was cut is never a whole one.

script(tracking="chronyc -c tracking", sources="chronyc -c sources")
parts = read_parts(output)
parts.text("tracking")            # raises Unreadable when it is missing, was cut, or ended with another code than 0
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ...facts.unreadable import Unreadable, excerpt
from .check import MARK, ProbeOutput

_BEGIN = re.compile(rf"^{MARK} begin (\w+)$")
_END = re.compile(rf"^{MARK} end (\w+) (\d+)$")


@dataclass(frozen=True)
class Part:
    """What one command printed on each stream, and its exit code."""

    exit_code: int
    text: str
    errors: str


@dataclass(frozen=True)
class Parts:
    """Answers by name."""

    by_name: Mapping[str, Part]

    def part(self, name: str) -> Part:
        """Whatever its exit code.

        Raises:
            Unreadable: it is missing or was cut.
        """
        if name not in self.by_name:
            raise Unreadable(f"the whole answer of part {name!r}", "", where="probe")
        return self.by_name[name]

    def text(self, name: str) -> str:
        """Of a command that ended well.

        Raises:
            Unreadable: it is missing, was cut, or ended with another code than 0.
        """
        part = self.part(name)
        if part.exit_code != 0:
            said = excerpt(part.errors.strip() or part.text)
            got = f"{part.exit_code}, saying {said}"
            raise Unreadable(f"{name} to end with 0", got, where="probe", in_our_words=True)
        return part.text


def script(**commands: str) -> str:
    """A text for `sh` that runs each command in a subshell, in order, whatever the others do."""
    return "".join(
        f"echo '{MARK} begin {name}'; echo '{MARK} begin {name}' >&2\n(\n{command}\n)\n"
        f"printf '\\n{MARK} end {name} %d\\n' $?\n"
        for name, command in commands.items()
    )


def read_parts(output: ProbeOutput) -> Parts:
    """The parts that were printed whole; a part that comes twice is not believed."""
    parts: dict[str, Part] = {}
    twice: set[str] = set()
    errors = _errors(output.stderr)
    name, lines = "", list[str]()
    for line in output.stdout.split("\n"):
        if match := _BEGIN.match(line):
            name, lines = match[1], []
        elif (match := _END.match(line)) and match[1] == name:
            if name in parts:
                twice.add(name)
            text = "\n".join(lines[:-1] if lines[-1:] == [""] else lines)
            parts[name] = Part(int(match[2]), text, errors.get(name, ""))
            name = ""
        elif name:
            lines.append(line)
    return Parts({each: part for each, part in parts.items() if each not in twice})


def _errors(stderr: str) -> dict[str, str]:
    """Standard error by part; nothing rests on it but the words of a reason."""
    errors: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in stderr.split("\n"):
        if match := _BEGIN.match(line):
            lines = errors.setdefault(match[1], [])
        else:
            lines.append(line)
    return {name: "\n".join(said) for name, said in errors.items()}
