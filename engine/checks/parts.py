"""Probes of several commands: each begins and ends with a mark, so that an answer that was cut is never a whole one.

script(tracking="chronyc -c tracking", sources="chronyc -c sources")
parts = read_parts(output.stdout)
parts.text("tracking")            # raises Unreadable when it is missing, was cut, or ended with another code than 0
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sovctl.engine.facts.unreadable import Unreadable, excerpt

_MARK = "=== sovctl"
_BEGIN = re.compile(rf"^{_MARK} begin (\w+)$")
_END = re.compile(rf"^{_MARK} end (\w+) (\d+)$")


@dataclass(frozen=True)
class Part:
    """What one command printed, and its exit code."""

    exit_code: int
    text: str


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
            raise Unreadable(
                f"part {name!r} to end with 0", f"{part.exit_code}, saying {excerpt(part.text)}", where="probe"
            )
        return part.text


def script(**commands: str) -> str:
    """A text for `sh` that runs each command in a subshell, in order, whatever the others do."""
    return "".join(
        f"echo '{_MARK} begin {name}'\n(\n{command}\n)\nprintf '\\n{_MARK} end {name} %d\\n' $?\n"
        for name, command in commands.items()
    )


def read_parts(stdout: str) -> Parts:
    """The parts that were printed whole; a part that comes twice is not believed."""
    parts: dict[str, Part] = {}
    twice: set[str] = set()
    name, lines = "", list[str]()
    for line in stdout.split("\n"):
        if match := _BEGIN.match(line):
            name, lines = match[1], []
        elif (match := _END.match(line)) and match[1] == name:
            if name in parts:
                twice.add(name)
            parts[name] = Part(int(match[2]), "\n".join(lines[:-1] if lines[-1:] == [""] else lines))
            name = ""
        elif name:
            lines.append(line)
    return Parts({each: part for each, part in parts.items() if each not in twice})
