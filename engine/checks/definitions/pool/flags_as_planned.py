"""pool.flags-as-planned: the running server was started with exactly the flags of the plan."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from ....facts.unreadable import Unreadable, excerpt
from ...model.check import Judgement, Method, ProbeOutput, failed, unknown, worst
from ...model.probe_sections import parse_sections
from ._process import PoolProcessCheck, unit_failure
from ._replicas import Expected


class FlagsAsPlanned(PoolProcessCheck):
    id, version, method = "pool.flags-as-planned", 1, Method.EXAMINE
    title = "the running server has exactly the planned flags"
    controls = ("cm-2", "cm-6")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Pass if the command line names only the flags file, the file has the flags, and the process is newer."""
        sections = parse_sections(output)
        if failure := unit_failure(sections, expected.unit):
            return failure
        findings = [
            *_command_line_findings(sections.text("process").splitlines(), expected.config),
            *_flag_findings(_parse_flags(sections.text("config")), expected.flags),
            *_time_findings(sections.text("times")),
        ]
        return worst(findings, otherwise=f"expected {len(expected.flags)} planned flags, got all of them")


def _command_line_findings(words: list[str], config: str) -> Iterator[Judgement]:
    if "serve" not in words:
        yield unknown("`vllm serve` as the unit's process", excerpt(" ".join(words)))
    elif (arguments := words[words.index("serve") + 1 :]) != ["--config", config]:
        yield failed(f"--config {config} and nothing else on the command line", excerpt(" ".join(arguments), width=160))


def _flag_findings(written: Mapping[str, Any], planned: Mapping[str, Any]) -> Iterator[Judgement]:
    for name, value in planned.items():
        if name not in written:
            yield failed(f"{name} {value}", "not set")
        elif written[name] != value:
            yield failed(f"{name} {value}", excerpt(str(written[name])))
    for name in sorted(map(str, set(written) - set(planned))):
        yield failed("only planned flags", name)


def _time_findings(text: str) -> Iterator[Judgement]:
    match = re.fullmatch(r"started (\d+)\nwritten (\d+)", text.strip())
    if match is None:
        raise Unreadable("`started` and `written` in seconds", text, where="times")
    started, written = int(match[1]), int(match[2])
    # One second of tolerance: both are whole seconds, and `ps` rounds the age of a process.
    if started + 1 < written:
        yield failed("a process started after its flags were written", f"a process {written - started} s older")


def _parse_flags(text: str) -> Mapping[str, Any]:
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        raise Unreadable("YAML", text, where="pool config") from None
    if not isinstance(value, dict):
        raise Unreadable("flags by name", text, where="pool config")
    return value
