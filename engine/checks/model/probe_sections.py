"""The output of a probe by section. Marks before and after each section reveal output that was cut off.

sections = parse_sections(output)
sections.text("tracking")         # raises Unreadable if it is missing, incomplete, or exited with a code other than 0
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...facts.unreadable import Unreadable, excerpt
from .probe import MARK, ProbeOutput

_BEGIN = re.compile(rf"{MARK} begin (\S+)")
_END = re.compile(rf"{MARK} end (\S+) ([0-9]{{1,9}})")


@dataclass(frozen=True)
class ProbeSection:
    """Exit code, standard output and standard error of one command of a probe."""

    exit_code: int
    text: str
    errors: str


@dataclass(frozen=True)
class ProbeSections:
    """The complete sections of a probe's output, by name."""

    by_name: Mapping[str, ProbeSection]

    def section(self, name: str) -> ProbeSection:
        """Return a section, whatever its exit code.

        Raises:
            Unreadable: the section is missing or incomplete.
        """
        if name not in self.by_name:
            raise Unreadable(f"complete output of {name!r}", "", where="probe")
        return self.by_name[name]

    def text(self, name: str) -> str:
        """Return the standard output of a command that exited with 0.

        Raises:
            Unreadable: the section is missing or incomplete, or its exit code is not 0.
        """
        section = self.section(name)
        if section.exit_code != 0:
            message = section.errors.strip() or section.text.strip()
            got = f"{section.exit_code}: {excerpt(message)}" if message else str(section.exit_code)
            raise Unreadable(f"exit code 0 of {name}", got, where="probe", is_description=True)
        return section.text


def parse_sections(output: ProbeOutput) -> ProbeSections:
    """Return the sections that are complete. A section that occurs twice is omitted."""
    if output.parts is not None:
        return ProbeSections(
            {
                name: ProbeSection(each.exit_code, each.text, each.stderr.rstrip("\n"))
                for name, each in output.parts.items()
                if each.exit_code is not None and each.is_complete
            }
        )
    errors = _errors(output.stderr)
    sections: dict[str, ProbeSection] = {}
    duplicates: set[str] = set()
    name, start = "", 0
    for line, mark in _marks(output.stdout):
        text = output.stdout[line:mark]
        if match := _BEGIN.fullmatch(text):
            name, start = match[1], mark + 1
        elif (match := _END.fullmatch(text)) and match[1] == name:
            if name in sections:
                duplicates.add(name)
            content = output.stdout[start : line - 1] if line > start else ""
            sections[name] = ProbeSection(int(match[2]), content.removesuffix("\n"), errors.get(name, ""))
            name = ""
    return ProbeSections({name: each for name, each in sections.items() if name not in duplicates})


def _marks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the bounds of the lines that begin with `MARK`, without their newlines."""
    at = 0 if text.startswith(MARK) else text.find(f"\n{MARK}") + 1
    while at or text.startswith(MARK):
        end = text.find("\n", at)
        if end < 0:
            yield at, len(text)
            return
        yield at, end
        at = text.find(f"\n{MARK}", end) + 1
        if not at:
            return


def _errors(stderr: str) -> dict[str, str]:
    """Return standard error by section. Reasons quote it; verdicts do not depend on it."""
    errors: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in stderr.split("\n"):
        if match := _BEGIN.fullmatch(line):
            lines = errors.setdefault(match[1], [])
        else:
            lines.append(line)
    return {name: "\n".join(each).rstrip("\n") for name, each in errors.items()}
